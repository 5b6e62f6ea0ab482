import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";

/** The revision without sessions: every request says for itself which protocol it speaks, and who asks. */
export const MODERN_VERSION = "2026-07-28";

/** What a request says of itself there, in its `_meta`; and what a server says of itself and its streams. */
export const META_KEYS = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The request whose answer is a stream that goes on for as long as somebody listens. */
export const LISTEN_METHOD = "subscriptions/listen";

/** Which of its parameters a request is routed by. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

/**
 * Whether a request belongs to the revision without sessions. `initialize` never does: there, the
 * envelope is a question (can you do without a handshake?), and whoever cannot shakes hands.
 */
export function isModern({ method, params }: JsonRpcMessage): boolean {
  const meta = params?.["_meta"];
  return method !== "initialize" && isPlainObject(meta) && META_KEYS.protocolVersion in meta;
}

/** The headers that repeat what such a request says: proxies route by them, and servers compare. */
export function toModernHeaders({ method = "", params }: JsonRpcMessage): Record<string, string> {
  const meta = params?.["_meta"] as JsonObject;
  const name = params?.[NAMED_BY.get(method) ?? ""];
  return {
    "mcp-protocol-version": String(meta[META_KEYS.protocolVersion]),
    "mcp-method": method,
    ...(typeof name === "string" ? { "mcp-name": toHeaderText(name) } : {}),
  };
}

const ENCODED = /^=\?base64\?.*\?=$/s;
const PLAIN = /^[\t\x20-\x7e]+$/;

/** As a header can carry it: what is not plain ASCII, or could be changed on the way, is encoded. */
export function toHeaderText(text: string): string {
  const isSafe = PLAIN.test(text) && text === text.trim() && !ENCODED.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}
