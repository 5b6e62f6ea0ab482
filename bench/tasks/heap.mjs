import { setImmediate } from "node:timers/promises";

const CONCURRENCY = 16;

/** Makes calls and samples the heap every `every` calls, as pairs of calls made so far and heap bytes. */
export async function run({ connections, servers, call, from, to, every }) {
  const opened = await connections.get(servers);
  const samples = [];
  for (let made = every; made <= to; made += every) {
    await callMany(() => opened.call(call), every);
    if (made >= from) samples.push([made, await measureHeapBytes()]);
  }
  return { samples };
}

async function callMany(makeCall, count) {
  let remaining = count;
  const callInLoop = async () => {
    while (remaining > 0) {
      remaining -= 1;
      await makeCall();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, callInLoop));
}

/** Collects twice with an event loop turn in between, because finalizers free more memory for the second. */
async function measureHeapBytes() {
  for (let n = 0; n < 2; n += 1) {
    globalThis.gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed;
}
