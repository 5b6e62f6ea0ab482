import { RPC_CODES } from "../../errors/rpc-codes.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";

/** The protocol revision without sessions: every request carries its protocol version and client info. */
export const MODERN_VERSION = "2026-07-28";

/** The `_meta` keys of requests, responses and streams in that revision. */
export const META_KEYS = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The extension with which a server may turn a tool call into a task. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The request whose response is a stream that stays open until the client closes it. */
export const LISTEN_METHOD = "subscriptions/listen";

/** The parameter that each method is routed by. */
const ROUTING_PARAM: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/**
 * Whether a request belongs to the revision without sessions. `initialize` never does: its `_meta` only
 * offers the modern revision, and a server that does not support it continues with the handshake.
 */
export function isModernRequest({ method, params }: JsonRpcMessage): boolean {
  const meta = params?.["_meta"];
  return method !== "initialize" && isPlainObject(meta) && META_KEYS.protocolVersion in meta;
}

/** Headers that mirror the body of a modern request: proxies route by them, and servers compare them. */
export function toModernHeaders({ method = "", params }: JsonRpcMessage): Record<string, string> {
  const meta = params?.["_meta"] as JsonObject;
  const name = params?.[ROUTING_PARAM.get(method) ?? ""];
  return {
    "mcp-protocol-version": meta[META_KEYS.protocolVersion] as string,
    "mcp-method": method,
    ...(typeof name === "string" ? { "mcp-name": encodeHeaderValue(name) } : {}),
  };
}

const ENCODED = /^=\?base64\?.*\?=$/s;
const PLAIN = /^[\t\x20-\x7e]+$/;

/** Encodes a value as base64 unless it is plain ASCII that proxies transmit unchanged. */
export function encodeHeaderValue(value: string): string {
  const isSafe = PLAIN.test(value) && value === value.trim() && !ENCODED.test(value);
  return isSafe ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

/** The errors with which a server that has parsed a message rejects its method, version, headers or params. */
export const PROTOCOL_CODES: ReadonlySet<unknown> = new Set([
  RPC_CODES.methodNotFound,
  RPC_CODES.invalidParams,
  RPC_CODES.headerMismatch,
  RPC_CODES.missingCapability,
  RPC_CODES.unsupportedVersion,
]);

/** Statuses about authorization, rate or time: they reveal nothing about the protocol of the server. */
export const AUTH_AND_RATE_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 425, 429]);
