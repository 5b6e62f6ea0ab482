/** The server forgets all sessions, then calls arrive together: from its first 404 to the last answer. */
export async function run({ held, servers, call, calls }) {
  const opened = await held.get(servers);
  const callAll = () => Promise.all(Array.from({ length: calls }, () => opened.call(call)));
  await callAll();
  const start = performance.now();
  await callAll();
  const calmMs = performance.now() - start;
  const { origin } = new URL(Object.values(servers)[0]);
  await fetch(`${origin}/forget`);
  await callAll();
  const answered = process.hrtime.bigint();
  const refused = BigInt(await (await fetch(`${origin}/first-refusal`)).text());
  const ms = Number(answered - refused) / 1e6;
  return { ms, toCalm: ms / calmMs };
}
