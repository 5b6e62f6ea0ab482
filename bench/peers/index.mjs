/**
 * A peer is one file that exports `open`. It imports its library statically, so that loading the file
 * is loading the library.
 *
 * @typedef {{ server: string, tool: string, args: Record<string, unknown> }} Call
 *
 * @typedef {object} Opened Something that must be closed.
 * @property {number} toolCount How many tools it made; 0 where it lists none.
 * @property {(call: Call) => Promise<string>} call The way a user calls a tool: by the made tool, checks and all.
 * @property {() => Promise<unknown>} close
 *
 * @typedef {object} Peer
 * @property {(servers: Record<string, string>) => Promise<Opened>} open Connects to all servers (name to address),
 *   lists their tools and converts them.
 */

export const OURS = "langchain-mcp-runtime";
export const ADAPTER = "@langchain/mcp-adapters";
export const FLOOR = "floor";

/** Where each peer is found, in the order of the tables. */
export const PEER_FILES = {
  [OURS]: "langchain-mcp-runtime.mjs",
  [ADAPTER]: "langchain-mcp-adapters.mjs",
  "@ai-sdk/mcp": "ai-sdk-mcp.mjs",
  "@mastra/mcp": "mastra-mcp.mjs",
  "@openai/agents": "openai-agents.mjs",
  "SDK Client": "sdk-client.mjs",
  [FLOOR]: "floor.mjs",
};

/** The LangChain that a peer meets: ours is imported from its own folder, the others from this one. */
export function coreToolsOf(peer) {
  return peer === OURS
    ? new URL("../../node_modules/@langchain/core/dist/tools/index.js", import.meta.url).href
    : import.meta.resolve("@langchain/core/tools");
}

/** @returns {Promise<Peer>} */
export function loadPeer(peer) {
  return import(new URL(PEER_FILES[peer], import.meta.url).href);
}
