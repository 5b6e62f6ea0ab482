import { loadPeer, resolveCoreTools } from "../peers/index.mjs";

/** For a fresh process: the import without LangChain's own tools, and the time to the first response. */
export async function run({ peer, servers, call }) {
  const start = performance.now();
  await import(resolveCoreTools(peer));
  const coreImportedAt = performance.now();
  const { open } = await loadPeer(peer);
  const importedAt = performance.now();
  const opened = await open(servers);
  await opened.call(call);
  const respondedAt = performance.now();
  await opened.close();
  return { importMs: importedAt - coreImportedAt, firstCallMs: respondedAt - start };
}
