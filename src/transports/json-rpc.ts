import { isPlainObject, type JsonObject } from "../json/json.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { excerpt } from "../errors/sanitize-text.js";

export type RequestId = string | number;

/** A received value, relative to the request whose response is awaited. */
export type ClassifiedMessage =
  | { readonly type: "response"; readonly message: JsonRpcMessage }
  /** A request or notification from the server. */
  | { readonly type: "server-message"; readonly message: JsonRpcMessage }
  | { readonly type: "other-response"; readonly reason: string }
  | { readonly type: "invalid"; readonly reason: string };

const INTERNAL_ERROR = -32_603;

export function isRequest(
  message: JsonRpcMessage,
): message is JsonRpcMessage & { id: RequestId; method: string } {
  return message.method !== undefined && message.id !== undefined;
}

/** @throws `McpRuntimeError` of kind `invalid-config` when the arguments cannot be serialized. */
export function toJsonText(message: JsonRpcMessage, server: string): string {
  try {
    return JSON.stringify(message);
  } catch (cause) {
    const text = `The arguments for server "${server}" cannot be serialized as JSON: ${String(cause)}`;
    throw new McpRuntimeError("invalid-config", text, { server, cause });
  }
}

/** Parses one message or an array of messages. Returns `undefined` when the text is not valid JSON. */
export function parseMessages(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    // The parser's error is dropped: it quotes the text, which may contain secrets.
    return undefined;
  }
}

/**
 * Classifies a value that was received while the request with this id is pending. Responses are rebuilt
 * from their known fields: during the handshake the SDK ignores a message with extra keys and would wait
 * forever.
 */
export function classifyMessage(value: unknown, id: RequestId): ClassifiedMessage {
  if (!isPlainObject(value) || value["jsonrpc"] !== "2.0") return invalidMessage("it is not JSON-RPC 2.0");
  if (typeof value["method"] === "string")
    return { type: "server-message", message: value as unknown as JsonRpcMessage };
  const { error, result } = value;
  // A server that could not parse the request responds without an id.
  const isError = isErrorResponse(value);
  const isMatch = isSameId(value["id"], id) || (value["id"] == null && isError);
  if (!isMatch) {
    const reason = `it responds to another request (id ${JSON.stringify(value["id"])})`;
    return { type: "other-response", reason };
  }
  if (isError) return { type: "response", message: { jsonrpc: "2.0", id, error: toRpcError(error) } };
  if (!isPlainObject(result)) return invalidMessage("its result is not an object");
  return { type: "response", message: { jsonrpc: "2.0", id, result: dropInvalidMeta(result) } };
}

/** Some servers send every field and use null for the ones that are not set. */
export function isErrorResponse({ error, result }: { error?: unknown; result?: unknown }): boolean {
  return error !== undefined && (error !== null || result === undefined || result === null);
}

function invalidMessage(reason: string): ClassifiedMessage {
  return { type: "invalid", reason };
}

/** Some servers return numeric ids as strings. */
function isSameId(received: unknown, id: RequestId): boolean {
  return received === id || (typeof received === "string" && received === String(id));
}

/** Normalizes an `error` field, which may hold anything. */
export function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!isPlainObject(error)) return { code: INTERNAL_ERROR, message: String(error) };
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "The server did not give a reason.",
    ...(data === undefined ? {} : { data }),
  };
}

/** The SDK drops an `initialize` result whose `_meta` is not an object. */
function dropInvalidMeta(result: JsonObject): JsonObject {
  if (result["_meta"] === undefined || isPlainObject(result["_meta"])) return result;
  const { _meta: _, ...rest } = result;
  return rest;
}

/**
 * Wraps a local error in a JSON-RPC error response. It travels the same path as a server's response, so
 * that all state of the request is cleared. `getLocalError` unwraps it.
 */
export function toLocalErrorResponse(id: RequestId, failure: unknown): JsonRpcMessage {
  return {
    jsonrpc: "2.0",
    id,
    error: { code: INTERNAL_ERROR, message: "local error", data: new LocalErrorData(failure) },
  };
}

class LocalErrorData {
  constructor(readonly reason: unknown) {}
}

/** Unwraps the error of `toLocalErrorResponse`. A server cannot forge it: parsed JSON has no class instances. */
export function getLocalError(data: unknown): { readonly reason: unknown } | undefined {
  return data instanceof LocalErrorData ? data : undefined;
}

export function invalidResponseError({ server, redactor }: ErrorContext, reason: string): McpRuntimeError {
  const quoted = excerpt(redactor.redact(reason));
  return new McpRuntimeError("invalid-response", `Server "${server}" sent an invalid response: ${quoted}.`, {
    server,
    outcomeUnknown: true,
  });
}

interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
}

export function responseTooLargeError(server: string, maxBytes: number): McpRuntimeError {
  return new McpRuntimeError(
    "too-large",
    `Server "${server}" sent a response of more than ${maxBytes} bytes. Request less data, or raise limits.responseBytes.`,
    { server, outcomeUnknown: true },
  );
}

/** A message that could not be parsed. */
type TruncatedMessage =
  | { readonly type: "response"; readonly id: RequestId }
  /** A response to an unknown request. */
  | { readonly type: "unidentified-response" }
  /** A request or notification from the server. */
  | { readonly type: "server-message" }
  | { readonly type: "invalid" };

const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const ID = String.raw`"id"\s*:\s*(-?\d+|"[^"\\]*")`;
/** Only these fields may precede an id or a method that belongs to the message itself. */
const METHOD_FIRST = new RegExp(String.raw`^\{\s*(?:${VERSION}\s*,\s*)?(?:${ID}\s*,\s*)?"method"\s*:`);
const ID_FIRST = new RegExp(String.raw`^\{\s*(?:${VERSION}\s*,\s*)?${ID}\s*,`);
/** The last brace closes the message, so the fields right before it belong to the message itself. */
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*${VERSION}\s*)?\}$`);

/** Classifies a message by its first and last characters, which is where servers put the id. */
export function classifyTruncated(head: string, tail: string): TruncatedMessage {
  const start = head.trimStart();
  if (!/^[{[]/.test(start)) return { type: "invalid" };
  if (METHOD_FIRST.test(start)) return { type: "server-message" };
  const id = ID_FIRST.exec(start)?.[1] ?? ID_LAST.exec(tail.trimEnd())?.[1];
  return id === undefined
    ? { type: "unidentified-response" }
    : { type: "response", id: JSON.parse(id) as RequestId };
}
