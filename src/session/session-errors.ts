import { errorCode, classifyFailure, hintForCode, isOutcomeUnknown } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { excerpt } from "../errors/sanitize-text.js";
import { reportsUnknownSession } from "../transports/http/session-loss.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
  /** The method of the request. */
  readonly method?: string | undefined;
}

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The JSON-RPC error as the server sent it; the cause of an `McpRuntimeError`. */
class RpcServerError extends Error {
  override readonly name = "RpcServerError";
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: RpcError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Converts a JSON-RPC error response. */
export function fromRpcError(
  error: RpcError,
  { server, redactor, method }: ErrorContext,
  cause: unknown = new RpcServerError(error),
): McpRuntimeError {
  const { code, message } = error;
  const serverText = excerpt(redactor.redact(message));
  const hint = hintForCode(code);
  return new McpRuntimeError(
    classifyFailure({ code, isResourceRead: method === "resources/read" }),
    `Server "${server}" returned error ${code}: ${serverText}${hint === "" ? "" : ` ${hint}`}`,
    { server, code, cause: redactor.redactCause(cause) },
  );
}

/**
 * Converts an error thrown by a custom transport. Nothing was sent before it started; after that, only an
 * HTTP status or a network error code in the error tells what happened.
 */
export function fromTransportError(
  error: unknown,
  phase: "start" | "send",
  { server, redactor, hasSession }: ErrorContext & { readonly hasSession: boolean },
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const status = getHttpStatus(error);
  const kind = classifyFailure({
    status,
    hadSession: hasSession,
    reportsUnknownSession: reportsUnknownSession(message),
    wasSent: phase === "start" ? false : undefined,
    networkCodes: getNetworkCodes(error),
  });
  const subject =
    status === undefined
      ? `The transport of server "${server}" failed`
      : `Server "${server}" returned HTTP ${status}`;
  const outcomeUnknown = isOutcomeUnknown(kind);
  const details = { server, status, outcomeUnknown, cause: redactor.redactCause(error) };
  return new McpRuntimeError(kind, `${subject}: ${excerpt(redactor.redact(message))}`, details);
}

/** The SDK's HTTP errors have the status as `code` or in `data.status`. */
function getHttpStatus(error: unknown): number | undefined {
  return [errorCode(error), getProperty(getProperty(error, "data"), "status")].find(isFailureStatus);
}

function isFailureStatus(value: unknown): value is number {
  return typeof value === "number" && value >= 400 && value < 600;
}

/** Global fetch wraps the reason in `cause`, and the errors of several addresses in an `AggregateError`. */
function getNetworkCodes(error: unknown): readonly unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...(cause instanceof AggregateError ? cause.errors : [])].map(errorCode);
}

function getProperty(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * Why a session does not accept requests.
 * - `draining`: the server no longer knows it, and another session replaces it
 * - `disconnected`: the transport closed unexpectedly
 * - `closed`: the client was closed
 */
export type SessionCloseReason = "draining" | "disconnected" | "closed";

/** The error for a request on a session that is already closed. */
export function sessionClosedError(server: string, reason: SessionCloseReason): McpRuntimeError {
  if (reason === "closed")
    return new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
  return new McpRuntimeError("not-sent", `The session with server "${server}" has ended.`, { server });
}

/** The error for a request that was in flight when the transport closed. */
export function connectionLostError(server: string, reason: SessionCloseReason): McpRuntimeError {
  if (reason === "closed") return sessionClosedError(server, reason);
  const text = `The connection to server "${server}" was lost before it answered. It may have run the request.`;
  return new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true });
}
