import { toBlockWarmUpMs } from "../measure/size.mjs";
import { median } from "../measure/statistics.mjs";

/** Makes calls one after the other for one block: median time, and CPU time of this process per call. */
export async function run({ connections, servers, call, blockMs }) {
  const opened = await connections.get(servers);
  const warmUpEnd = performance.now() + toBlockWarmUpMs(blockMs);
  while (performance.now() < warmUpEnd) await opened.call(call);
  const times = [];
  const cpu = process.cpuUsage();
  const end = performance.now() + blockMs;
  let now = performance.now();
  while (now < end) {
    await opened.call(call);
    const next = performance.now();
    times.push((next - now) * 1000);
    now = next;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { p50Us: median(times), cpuUs: (user + system) / times.length };
}
