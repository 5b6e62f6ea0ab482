import { isPlainObject, type JsonObject } from "../json/json.js";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/sanitize-text.js";

export type RequestId = string | number;

/** What a received value is to the request with this id. */
export type Received =
  | { readonly is: "answer"; readonly message: JsonRpcMessage }
  /** A request or notification of the server. */
  | { readonly is: "call"; readonly message: JsonRpcMessage }
  | { readonly is: "answer to another"; readonly why: string }
  | { readonly is: "garbage"; readonly why: string };

const INTERNAL_ERROR = -32_603;

export function isRequest(
  message: JsonRpcMessage,
): message is JsonRpcMessage & { id: RequestId; method: string } {
  return message.method !== undefined && message.id !== undefined;
}

/** As it travels. Arguments that JSON cannot say are the caller's mistake. */
export function toJsonText(message: JsonRpcMessage, server: string): string {
  try {
    return JSON.stringify(message);
  } catch (cause) {
    const text = `The arguments for server "${server}" cannot be written as JSON: ${String(cause)}`;
    throw new McpRuntimeError("invalid-config", text, { server, cause });
  }
}

/** The messages in one JSON text, which holds one or a list of them; `undefined` when it is broken. */
export function parseMessages(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    // The parser's error is not kept: it quotes the text, and with it whatever the text holds.
    return undefined;
  }
}

/**
 * Sorts what came on the stream of one request. Answers are rebuilt with nothing but what belongs
 * there: during the handshake the SDK ignores a message that has a key too many, and would wait for ever.
 */
export function sortReceived(value: unknown, id: RequestId): Received {
  if (!isPlainObject(value) || value["jsonrpc"] !== "2.0") return garbage("it is not JSON-RPC 2.0");
  if (typeof value["method"] === "string") return { is: "call", message: value as unknown as JsonRpcMessage };
  const { error, result } = value;
  // A server that could not read the request answers without its id; on this stream it is still ours.
  const isError = isErrorAnswer(value);
  const isOurs = sameId(value["id"], id) || (value["id"] == null && isError);
  if (!isOurs) {
    return { is: "answer to another", why: `it answers another request (id ${JSON.stringify(value["id"])})` };
  }
  if (isError) return { is: "answer", message: { jsonrpc: "2.0", id, error: toRpcError(error) } };
  if (!isPlainObject(result)) return garbage("its result is not an object");
  return { is: "answer", message: { jsonrpc: "2.0", id, result: withUsableMeta(result) } };
}

/** Servers that write every field send null for none. */
export function isErrorAnswer({ error, result }: { error?: unknown; result?: unknown }): boolean {
  return error !== undefined && (error !== null || result === undefined || result === null);
}

function garbage(why: string): Received {
  return { is: "garbage", why };
}

/** Some servers send numbers back as strings. */
function sameId(received: unknown, id: RequestId): boolean {
  return received === id || (typeof received === "string" && received === String(id));
}

/** What a server calls an error may be anything. */
export function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!isPlainObject(error)) return { code: INTERNAL_ERROR, message: String(error) };
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : INTERNAL_ERROR,
    message: typeof message === "string" ? message : "The server gave no reason.",
    ...(data === undefined ? {} : { data }),
  };
}

/** The SDK drops a greeting whose `_meta` is not an object. */
function withUsableMeta(result: JsonObject): JsonObject {
  if (result["_meta"] === undefined || isPlainObject(result["_meta"])) return result;
  const { _meta: _, ...rest } = result;
  return rest;
}

/**
 * A failure of ours in the shape of an answer. It takes the same way up as a server's answer, so that
 * whatever is kept for the request is cleared; `failureIn` takes it out again at the other end.
 */
export function toFailureAnswer(id: RequestId, failure: unknown): JsonRpcMessage {
  return {
    jsonrpc: "2.0",
    id,
    error: { code: INTERNAL_ERROR, message: "local failure", data: new LocalFailure(failure) },
  };
}

class LocalFailure {
  constructor(readonly reason: unknown) {}
}

/** The failure that `toFailureAnswer` put in. No server can forge it: JSON has no instances. */
export function failureIn(data: unknown): { readonly reason: unknown } | undefined {
  return data instanceof LocalFailure ? data : undefined;
}

export function malformedAnswer({ server, redactor }: AnswerContext, why: string): McpRuntimeError {
  const said = quoteServer(redactor.text(why));
  return new McpRuntimeError(
    "invalid-response",
    `Server "${server}" sent something that is no answer: ${said}.`,
    {
      server,
      outcomeUnknown: true,
    },
  );
}

interface AnswerContext {
  readonly server: string;
  readonly redactor: Redactor;
}

export function tooLargeAnswer(server: string, maxBytes: number): McpRuntimeError {
  return new McpRuntimeError(
    "too-large",
    `Server "${server}" sent an answer of more than ${maxBytes} bytes. Ask for less, or raise limits.responseBytes.`,
    { server, outcomeUnknown: true },
  );
}
