import { median } from "../measure/statistics.mjs";

/** Calls that start together: how long until the last has its answer, several times over. */
export async function run({ held, servers, call, size, times }) {
  const opened = await held.get(servers);
  const costs = [];
  for (let n = 0; n <= times; n += 1) {
    const start = performance.now();
    await Promise.all(Array.from({ length: size }, () => opened.call(call)));
    if (n > 0) costs.push(performance.now() - start);
  }
  return { ms: median(costs) };
}
