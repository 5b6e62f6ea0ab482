import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { kindOfRpcCode } from "../errors/kind-of-rpc-code.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/server-text.js";
import { kindOfStatus } from "../transports/http-failures.js";
import { failureIn } from "../transports/json-rpc.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
}

/** The SDK's own word for a transport that is gone; servers use the same code for other things. */
const CONNECTION_CLOSED: number = ErrorCode.ConnectionClosed;

/** What a connection that was never made is told by. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * The one door where the SDK's errors become ours. `ended` is why the transport is gone, when it is:
 * the SDK then rejects with an error that says nothing. A reason that we put in ourselves comes out
 * as it was.
 */
export function toRuntimeError(
  error: unknown,
  ended: McpRuntimeError | undefined,
  { server, redactor }: ErrorContext,
): unknown {
  if (error instanceof McpRuntimeError) return error;
  if (!(error instanceof McpError)) return ended ?? unexpected(error, { server, redactor });
  const local = failureIn(error.data);
  if (local !== undefined) return local.reason;
  if (error.code === CONNECTION_CLOSED && ended !== undefined) return ended;
  const said = quoteServer(redactor.text(error.message.replace(/^MCP error -?\d+: /, "")));
  return new McpRuntimeError(
    kindOfRpcCode(error.code),
    `Server "${server}" answered with error ${error.code}: ${said}`,
    {
      server,
      code: error.code,
      cause: redactor.cause(error),
    },
  );
}

function unexpected(error: unknown, { server, redactor }: ErrorContext): McpRuntimeError {
  const said = redactor.text(String(error));
  return new McpRuntimeError("malformed", `Something unexpected happened with server "${server}": ${said}`, {
    server,
    cause: redactor.cause(error),
    outcomeUnknown: true,
  });
}

/**
 * A transport that is not ours failed. Before it was started nothing can have been sent; after that
 * its error may carry an HTTP status or say that there was no connection, and else nothing is certain.
 */
export function fromTransport(
  error: unknown,
  phase: "start" | "send",
  { server, redactor, hasSession }: ErrorContext & { readonly hasSession: boolean },
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const said = quoteServer(redactor.text(error instanceof Error ? error.message : String(error)));
  const details = { server, cause: redactor.cause(error) };
  const status = codeOf(error);
  if (typeof status === "number" && status >= 400 && status < 600) {
    const kind = status === 404 && hasSession ? "session-lost" : kindOfStatus(status);
    return new McpRuntimeError(kind, `Server "${server}" answered HTTP ${status}: ${said}`, {
      ...details,
      status,
    });
  }
  const isUnsent = phase === "start" || isNotConnected(error);
  const text = `The transport of server "${server}" failed: ${said}`;
  return new McpRuntimeError(isUnsent ? "not-sent" : "connection-lost", text, {
    ...details,
    outcomeUnknown: !isUnsent,
  });
}

/** Global fetch wraps the reason in a cause, and several addresses of one host in a list. */
function isNotConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const reasons = [error, cause, ...(cause instanceof AggregateError ? cause.errors : [])];
  return reasons.some((reason) => NOT_CONNECTED.has(String(codeOf(reason))));
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
}
