import { measureHeapBytes } from "../measure/heap-bytes.mjs";

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
