import { setImmediate } from "node:timers/promises";

const IN_FLIGHT = 16;

/** Makes calls and weighs the heap after every so many: pairs of calls made so far and bytes. */
export async function run({ held, servers, call, from, to, every }) {
  const opened = await held.get(servers);
  const samples = [];
  for (let made = every; made <= to; made += every) {
    await callMany(() => opened.call(call), every);
    if (made >= from) samples.push([made, await heapBytes()]);
  }
  return { samples };
}

async function callMany(makeCall, count) {
  let left = count;
  const callOn = async () => {
    while (left > 0) {
      left -= 1;
      await makeCall();
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, callOn));
}

/** Twice, with a turn between: finalizers free more on the second. */
async function heapBytes() {
  for (let n = 0; n < 2; n += 1) {
    globalThis.gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed;
}
