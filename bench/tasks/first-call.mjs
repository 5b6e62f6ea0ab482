import { get } from "node:http";
import { loadPeer, resolveCoreTools } from "../peers/index.mjs";

/**
 * For a fresh process: the import without LangChain's own tools, and the time, CPU time and POST requests to the first
 * response. With `stored`, a peer that can continue from a store does.
 */
export async function run({ peer, servers, call, stored }) {
  const start = performance.now();
  const cpuStart = process.cpuUsage();
  await import(resolveCoreTools(peer));
  const coreImportedAt = performance.now();
  const { open, openStored } = await loadPeer(peer);
  const importedAt = performance.now();
  const opened =
    stored === undefined || openStored === undefined
      ? await open(servers)
      : await openStored(servers, stored);
  await opened.call(call);
  const respondedAt = performance.now();
  const { user, system } = process.cpuUsage(cpuStart);
  const requests = await takeRequestCount(Object.values(servers)[0]);
  await opened.close();
  return {
    importMs: importedAt - coreImportedAt,
    firstCallMs: respondedAt - start,
    firstCallCpuMs: (user + system) / 1_000,
    requests,
  };
}

/** Returns how many requests the server has received since the last time that it was asked. */
async function takeRequestCount(url) {
  const body = await new Promise((resolve, reject) => {
    get(new URL("/request-count", url), { agent: false }, (response) => {
      response.setEncoding("utf8").on("data", resolve).on("error", reject);
    }).on("error", reject);
  });
  return Number(body);
}
