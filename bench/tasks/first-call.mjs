import { coreToolsOf, loadPeer } from "../peers/index.mjs";

/** For a fresh process: the import beyond LangChain's own tools, then everything up to the first answer. */
export async function run({ peer, servers, call }) {
  const start = performance.now();
  await import(coreToolsOf(peer));
  const hasCore = performance.now();
  const { open } = await loadPeer(peer);
  const imported = performance.now();
  const opened = await open(servers);
  await opened.call(call);
  const answered = performance.now();
  await opened.close();
  return { importMs: imported - hasCore, firstCallMs: answered - start };
}
