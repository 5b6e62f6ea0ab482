import { wakeMs } from "../measure/size.mjs";
import { median } from "../measure/statistics.mjs";

/** One call after the other for a while: the median, and the CPU time of this process for each. */
export async function run({ held, servers, call, blockMs }) {
  const opened = await held.get(servers);
  for (const awake = performance.now() + wakeMs(blockMs); performance.now() < awake;) await opened.call(call);
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
