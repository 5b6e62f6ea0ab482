import { median } from "../measure/statistics.mjs";

/** Starts calls together and returns the median time to the last response. The first batch is not counted. */
export async function run({ connections, servers, call, size, repeats }) {
  const opened = await connections.get(servers);
  const times = [];
  for (let n = 0; n <= repeats; n += 1) {
    const start = performance.now();
    await Promise.all(Array.from({ length: size }, () => opened.call(call)));
    if (n > 0) times.push(performance.now() - start);
  }
  return { ms: median(times) };
}
