import { loadPeer } from "../peers/index.mjs";

/** From addresses to tools; closing is not counted. */
export async function run({ peer, servers, toolCount }) {
  const { open } = await loadPeer(peer);
  const start = performance.now();
  const opened = await open(servers);
  const ms = performance.now() - start;
  await opened.close();
  if (opened.toolCount !== 0 && opened.toolCount < toolCount)
    throw new Error(`made ${opened.toolCount} of ${toolCount} tools`);
  return { ms };
}
