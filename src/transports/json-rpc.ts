import { isAscii } from "node:buffer";
import type { JsonRpcMessage } from "../config/message-transport.js";
import { classifyFailure, hintForCode } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import { MAX_TEXT_LENGTH, printValue, truncate } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, toObject } from "../json/json.js";

export type RequestId = string | number;

/** A request as it is sent. */
export interface RpcRequest extends JsonRpcMessage {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
}

/** The server that an error is about, and the redactor for its message. */
export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
}

/** How many requests of a server run or wait on one session. */
export const MAX_SERVER_REQUESTS = 256;
/** Responses contain the id of a request, and may have to wait until the server reads them. */
export const MAX_REQUEST_ID_CHARS = 1_024;

const NO_REASON = "The server did not give a reason.";

export function isRequest(
  message: JsonRpcMessage,
): message is JsonRpcMessage & { id: RequestId; method: string } {
  return message.method !== undefined && message.id !== undefined;
}

/**
 * @throws `McpRuntimeError` when the arguments cannot be serialized: `invalid-request` if they are too deep or too large,
 * which arguments of a model can be, and `invalid-config` if they are not JSON.
 */
export function toJsonText(message: JsonRpcMessage, server: string): string {
  try {
    return JSON.stringify(message);
  } catch (cause) {
    if (cause instanceof RangeError) {
      const problem = "nested too deeply, or too large, to be sent as JSON";
      const text = `The arguments for server "${server}" are ${problem}.`;
      const issues = [{ path: "", message: problem }];
      throw new McpRuntimeError("invalid-request", text, { server, issues, cause });
    }
    const text = `The arguments for server "${server}" cannot be serialized as JSON: ${printValue(cause)}`;
    throw new McpRuntimeError("invalid-config", text, { server, cause });
  }
}

/** Nothing that a server sends is nested deeper, so that code which walks or serializes it cannot exhaust the stack. */
const MAX_DEPTH = 512;

/** Every item of a batch is handled at once. More than a client has calls in flight, or a server has to announce. */
const MAX_BATCH_MESSAGES = 10_000;

export const INVALID_JSON = "it is not valid JSON";
export const NOT_A_MESSAGE = "it is not valid JSON-RPC";
export const TOO_DEEP = `it is nested more than ${MAX_DEPTH} levels deep`;
const TOO_MANY_MESSAGES = `it is a batch of more than ${MAX_BATCH_MESSAGES} messages`;

const MIN_LARGE_BYTES = 65_536;

/** Decodes UTF-8. A large ASCII text is copied instead: decoding a megabyte takes half as long as parsing it. */
export function decodeUtf8(bytes: Buffer): string {
  const isLargeAscii = bytes.length >= MIN_LARGE_BYTES && isAscii(bytes);
  return bytes.toString(isLargeAscii ? "latin1" : "utf8");
}

/**
 * The beginning of an object, or of an array of objects. Parsing other text, such as a line of a log that begins with
 * `[INFO]`, takes long, because the parser throws an error.
 */
const MESSAGE_START = /^\s*(?:\{|\[\s*\{)/;

/** Whether a text begins like a message or a batch of messages. */
export function looksLikeMessage(text: string): boolean {
  return MESSAGE_START.test(text);
}

/** Parses one message or an array of messages. Returns the problem as a string if there are none. */
export function parseMessages(text: string): unknown[] | string {
  if (!looksLikeMessage(text)) return NOT_A_MESSAGE;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The parser's error is dropped: it quotes the text, which may contain secrets.
    return INVALID_JSON;
  }
  const messages = toMessages(parsed);
  // Every level takes two characters.
  return text.length > 2 * MAX_DEPTH ? messages.map(withoutDepth) : messages;
}

/** Returns the messages of a parsed value, which may be a batch. */
export function toMessages(parsed: unknown): unknown[] {
  if (!Array.isArray(parsed)) return [parsed];
  if (parsed.length <= MAX_BATCH_MESSAGES) return parsed;
  return [isJsonRpc(parsed[0]) ? new UnreadableMessage(TOO_MANY_MESSAGES) : undefined];
}

function withoutDepth(value: unknown): unknown {
  if (!isTooDeep(value)) return value;
  return isJsonRpc(value) ? new UnreadableMessage(TOO_DEEP, value) : undefined;
}

/** Whether a value is nested deeper than messages may be. */
export function isTooDeep(value: unknown): boolean {
  return exceedsDepth(value, MAX_DEPTH);
}

/** A message whose content is not read. */
export class UnreadableMessage {
  /** A request or notification of the server, for which no caller waits. */
  readonly isServerMessage: boolean;
  /** The id of a response, or `undefined` if it may respond to any request. */
  readonly id: RequestId | undefined;

  constructor(
    readonly reason: string,
    { method, id }: JsonObject = {},
  ) {
    this.isServerMessage = method !== undefined && method !== null;
    this.id = typeof id === "string" || typeof id === "number" ? id : undefined;
  }
}

/** Recursive, which is limited by `levels`, and without an array of values for every object: lists are large. */
function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels < 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (exceedsDepth(item, levels - 1)) return true;
  } else for (const key in value) if (exceedsDepth((value as JsonObject)[key], levels - 1)) return true;
  return false;
}

function isJsonRpc(value: unknown): value is JsonObject {
  return isPlainObject(value) && value["jsonrpc"] === "2.0";
}

/** Whether a received value is a request or notification of the server. */
export function isServerMessage(value: unknown): value is JsonRpcMessage {
  return isJsonRpc(value) && typeof value["method"] === "string";
}

export const NOT_JSON_RPC = "it is not JSON-RPC 2.0";
export const UNMATCHED_RESPONSE = "it is a late response, or a response to another request";

/** Whether a received value is a response to any request. */
export function isResponse(value: unknown): value is JsonObject {
  return isJsonRpc(value) && typeof value["method"] !== "string";
}

/** Whether a response belongs to a request. A server that could not parse the request responds with an error without an id. */
export function isResponseTo(response: JsonObject, id: RequestId): boolean {
  return isSameId(response["id"], id) || (response["id"] == null && isErrorResponse(response));
}

export function describeOtherResponse({ id }: JsonObject): string {
  const shown = typeof id === "object" && id !== null ? "an object" : JSON.stringify(id);
  return `it responds to another request (id ${shown})`;
}

/** Returns the result of a response, or the error that it reports. */
export function readResponse(
  response: { readonly error?: unknown; readonly result?: unknown },
  method: string,
  context: ErrorContext,
): JsonObject | McpRuntimeError {
  const { error, result } = response;
  if (isErrorResponse(response)) return fromRpcError(new RpcServerError(error), method, context);
  return isPlainObject(result) ? result : invalidResponseError(context, "its result is not an object");
}

/** Some servers send every field and use null for the ones that are not set. */
function isErrorResponse({ error, result }: { error?: unknown; result?: unknown }): boolean {
  return error !== undefined && (error !== null || result === undefined || result === null);
}

/** Some servers return numeric ids as strings. */
export function isSameId(received: unknown, id: RequestId): boolean {
  return received === id || (typeof received === "string" && received === String(id));
}

/** The JSON-RPC error as the server sent it, in a field that may hold anything; the cause of an `McpRuntimeError`. */
class RpcServerError extends Error {
  override readonly name = "RpcServerError";
  readonly code: number;
  readonly data: unknown;

  constructor(error: unknown) {
    const isOther = !isPlainObject(error) && !Array.isArray(error);
    const { code, message, data } = isOther ? { message: printValue(error) } : toObject(error);
    super(typeof message === "string" ? message : NO_REASON);
    this.code = Number.isSafeInteger(code) ? (code as number) : RPC_CODES.internalError;
    this.data = data;
  }
}

const UNKNOWN_PROMPT = /\bunknown prompt\b|\bprompt\b.{0,200}\bnot found\b/i;

/** The methods whose only parameter is a URI. */
const URI_METHODS: ReadonlySet<string> = new Set(["resources/read", "skills/get"]);

/** A prompt has arguments, which may be invalid as well. */
function isUnknownItem(method: string, message: string): boolean {
  return URI_METHODS.has(method) || (method === "prompts/get" && UNKNOWN_PROMPT.test(message));
}

function fromRpcError(
  error: RpcServerError,
  method: string,
  { server, redactor }: ErrorContext,
): McpRuntimeError {
  const { code } = error;
  const message = truncate(error.message, MAX_TEXT_LENGTH);
  const serverText = redactor.excerpt(error.message);
  const hint = hintForCode(code);
  return new McpRuntimeError(
    classifyFailure({ code, isUnknownItem: isUnknownItem(method, message) }),
    `Server "${server}" returned error ${code}: ${serverText}${hint === "" ? "" : ` ${hint}`}`,
    { server, code, cause: redactor.redactCause(error) },
  );
}

export function invalidResponseError({ server, redactor }: ErrorContext, reason: string): McpRuntimeError {
  const quoted = redactor.excerpt(reason);
  return new McpRuntimeError("invalid-response", `Server "${server}" sent an invalid response: ${quoted}.`, {
    server,
    outcomeUnknown: true,
  });
}

/** The error for a message whose processing threw an exception. */
export function unprocessableError(context: ErrorContext, error: unknown): McpRuntimeError {
  return invalidResponseError(context, `it could not be processed (${printValue(error)})`);
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

/** How much of the start and of the end of a message is searched for its id. */
const EXCERPT_LENGTH = 4 * 1024;

/** Classifies a message by its first and last characters, which is where servers put the id. */
export function classifyTruncated(head: string, tail: string): TruncatedMessage {
  const start = head.slice(0, EXCERPT_LENGTH).trimStart();
  if (!looksLikeMessage(start)) return { type: "invalid" };
  if (METHOD_FIRST.test(start)) return { type: "server-message" };
  const id = ID_FIRST.exec(start)?.[1] ?? ID_LAST.exec(tail.slice(-EXCERPT_LENGTH).trimEnd())?.[1];
  return id === undefined
    ? { type: "unidentified-response" }
    : { type: "response", id: JSON.parse(id) as RequestId };
}
