import { loadPeer } from "../peers/index.mjs";

/** Time from server URLs to tools, without closing. */
export async function run({ peer, servers, toolCount }) {
  const { open } = await loadPeer(peer);
  const start = performance.now();
  const opened = await open(servers);
  const ms = performance.now() - start;
  await opened.close();
  if (opened.toolCount !== 0 && opened.toolCount < toolCount)
    throw new Error(`created ${opened.toolCount} of ${toolCount} tools`);
  return { ms };
}
