/**
 * A peer is one file that exports `open`. It imports its library statically, so loading the file loads
 * the library.
 *
 * @typedef {{ server: string, tool: string, args: Record<string, unknown> }} Call
 *
 * @typedef {object} Opened Connections that must be closed.
 * @property {number} toolCount The number of tools created; 0 for peers that do not create tools.
 * @property {(call: Call) => Promise<string>} call Calls a tool the way a user does, including argument validation.
 * @property {() => Promise<unknown>} close
 *
 * @typedef {object} Peer
 * @property {(servers: Record<string, string>) => Promise<Opened>} open Connects to all servers (name to URL),
 *   lists their tools and converts them.
 */

export const RUNTIME = "langchain-mcp-runtime";
export const ADAPTER = "@langchain/mcp-adapters";
export const BASELINE = "baseline";

/** The file of each peer, in the order of the tables. */
export const PEER_FILES = {
  [RUNTIME]: "langchain-mcp-runtime.mjs",
  [ADAPTER]: "langchain-mcp-adapters.mjs",
  "@ai-sdk/mcp": "ai-sdk-mcp.mjs",
  "@mastra/mcp": "mastra-mcp.mjs",
  "@openai/agents": "openai-agents.mjs",
  "SDK Client": "sdk-client.mjs",
  [BASELINE]: "baseline.mjs",
};

/** Resolves the LangChain that a peer imports: from the repository root for ours, from bench/ for the others. */
export function resolveCoreTools(peer) {
  return peer === RUNTIME
    ? new URL("../../node_modules/@langchain/core/dist/tools/index.js", import.meta.url).href
    : import.meta.resolve("@langchain/core/tools");
}

/** @returns {Promise<Peer>} */
export function loadPeer(peer) {
  return import(new URL(PEER_FILES[peer], import.meta.url).href);
}
