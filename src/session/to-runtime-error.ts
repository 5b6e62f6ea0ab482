import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { kindOfFailure, leavesOutcomeOpen } from "../errors/kind-of-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/server-text.js";
import { failureIn } from "../transports/json-rpc.js";
import { deniesSession } from "../transports/session-loss.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
  /** What was asked for. */
  readonly method?: string | undefined;
}

/** The SDK's own word for a transport that is gone; servers use the same code for other things. */
const CONNECTION_CLOSED: number = ErrorCode.ConnectionClosed;

/**
 * The one door where the SDK's errors become ours. `ended` is why the transport is gone, when it is:
 * the SDK then rejects with an error that says nothing. A reason that we put in ourselves comes out
 * as it was.
 */
export function toRuntimeError(
  error: unknown,
  ended: McpRuntimeError | undefined,
  { server, redactor, method }: ErrorContext,
): unknown {
  if (error instanceof McpRuntimeError) return error;
  if (!(error instanceof McpError)) return ended ?? unexpected(error, { server, redactor });
  const local = failureIn(error.data);
  if (local !== undefined) return local.reason;
  if (error.code === CONNECTION_CLOSED && ended !== undefined) return ended;
  const said = quoteServer(redactor.text(error.message.replace(/^MCP error -?\d+: /, "")));
  return new McpRuntimeError(
    kindOfFailure({ code: error.code, readsResource: method === "resources/read" }),
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
  const words = error instanceof Error ? error.message : String(error);
  const status = statusIn(error);
  const kind = kindOfFailure({
    status,
    hadSession: hasSession,
    deniesSession: deniesSession(words),
    wasSent: phase === "start" ? false : undefined,
    networkCodes: networkCodesIn(error),
  });
  const what =
    status === undefined
      ? `The transport of server "${server}" failed`
      : `Server "${server}" answered HTTP ${status}`;
  const outcomeUnknown = leavesOutcomeOpen(kind);
  const details = { server, status, outcomeUnknown, cause: redactor.cause(error) };
  return new McpRuntimeError(kind, `${what}: ${quoteServer(redactor.text(words))}`, details);
}

/** The SDK's HTTP errors have it for a code. */
function statusIn(error: unknown): number | undefined {
  const code = codeOf(error);
  return typeof code === "number" && code >= 400 && code < 600 ? code : undefined;
}

/** Global fetch wraps the reason in a cause, and several addresses of one host in a list. */
function networkCodesIn(error: unknown): readonly unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...(cause instanceof AggregateError ? cause.errors : [])].map(codeOf);
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
}
