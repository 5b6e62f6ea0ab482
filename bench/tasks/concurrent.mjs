import { wakeMs } from "../measure/size.mjs";

/** As many calls in flight as told, for a while: how many end in a second. */
export async function run({ held, servers, call, concurrency, blockMs }) {
  const opened = await held.get(servers);
  const callFor = async (ms) => {
    let ended = 0;
    const start = performance.now();
    const caller = async () => {
      for (; performance.now() - start < ms; ended += 1) await opened.call(call);
    };
    await Promise.all(Array.from({ length: concurrency }, caller));
    return { callsPerSecond: (ended / (performance.now() - start)) * 1000 };
  };
  await callFor(wakeMs(blockMs));
  return callFor(blockMs);
}
