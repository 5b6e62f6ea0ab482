/** Drops all sessions on the server, then calls concurrently: time from the first 404 to the last response. */
export async function run({ connections, servers, call, calls }) {
  const opened = await connections.get(servers);
  const callAll = () => Promise.all(Array.from({ length: calls }, () => opened.call(call)));
  await callAll();
  const start = performance.now();
  await callAll();
  const undisturbedMs = performance.now() - start;
  const { origin } = new URL(Object.values(servers)[0]);
  await fetch(`${origin}/drop-sessions`);
  await callAll();
  const respondedAt = process.hrtime.bigint();
  const rejectedAt = BigInt(await (await fetch(`${origin}/first-rejection`)).text());
  const ms = Number(respondedAt - rejectedAt) / 1e6;
  return { ms, ratio: ms / undisturbedMs };
}
