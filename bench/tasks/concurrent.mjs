import { toBlockWarmUpMs } from "../measure/size.mjs";

/** Keeps `concurrency` calls in flight for one block and returns the calls completed per second. */
export async function run({ connections, servers, call, concurrency, blockMs }) {
  const opened = await connections.get(servers);
  const callFor = async (ms) => {
    let completed = 0;
    const start = performance.now();
    const callInLoop = async () => {
      for (; performance.now() - start < ms; completed += 1) await opened.call(call);
    };
    await Promise.all(Array.from({ length: concurrency }, callInLoop));
    return { callsPerSecond: (completed / (performance.now() - start)) * 1000 };
  };
  await callFor(toBlockWarmUpMs(blockMs));
  return callFor(blockMs);
}
