/** As many calls in flight as told, for a while: how many end in a second. */
export async function run({ held, servers, call, concurrency, blockMs }) {
  const opened = await held.get(servers);
  const inParallel = (caller) => Promise.all(Array.from({ length: concurrency }, caller));
  await inParallel(() => opened.call(call));
  let ended = 0;
  const start = performance.now();
  const end = start + blockMs;
  await inParallel(async () => {
    while (performance.now() < end) {
      await opened.call(call);
      ended += 1;
    }
  });
  return { callsPerSecond: (ended / (performance.now() - start)) * 1000 };
}
