import { setImmediate } from "node:timers/promises";

const IN_FLIGHT = 16;

/** Makes calls and weighs the heap after every so many: pairs of calls made so far and bytes. */
export async function run({ held, servers, call, from, to, every }) {
  const opened = await held.get(servers);
  const samples = [];
  let made = 0;
  while (made < to) {
    const target = made + every;
    const callOn = async () => {
      while (made < target) {
        made += 1;
        await opened.call(call);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, callOn));
    if (made >= from) samples.push([made, await heapBytes()]);
  }
  return { samples };
}

/** Twice, with a turn between: finalizers free more on the second. */
async function heapBytes() {
  for (let n = 0; n < 2; n += 1) {
    globalThis.gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed;
}
