import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { kindOfRpcCode } from "../errors/kind-of-rpc-code.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/server-text.js";
import { kindOfStatus } from "../transports/http-failures.js";
import { failureIn } from "../transports/json-rpc.js";

export interface ErrorContext {
  readonly server: string;
  readonly redactor: Redactor;
  readonly hasSession: boolean;
  /** Why the transport is gone, when it is: the SDK then rejects with an error that says nothing. */
  readonly closedBy: McpRuntimeError | undefined;
}

/**
 * The one door where foreign errors become ours: the SDK's and those of transports that are not
 * ours. A reason that we put in ourselves comes out as it was.
 */
export function toRuntimeError(error: unknown, context: ErrorContext): unknown {
  const local = error instanceof McpError ? failureIn(error.data) : undefined;
  if (local !== undefined) return local.reason;
  if (error instanceof McpRuntimeError) return error;
  if (context.closedBy !== undefined) return context.closedBy;
  const { server } = context;
  const cause = context.redactor.cause(error);
  if (error instanceof McpError) {
    const said = quoteServer(context.redactor.text(error.message.replace(/^MCP error -?\d+: /, "")));
    return new McpRuntimeError(
      kindOfRpcCode(error.code),
      `Server "${server}" answered with error ${error.code}: ${said}`,
      {
        server,
        code: error.code,
        cause,
      },
    );
  }
  return fromForeignTransport(error, cause, context);
}

/** A transport that is not ours failed to send. Its error may carry an HTTP status; else nothing is certain. */
function fromForeignTransport(
  error: unknown,
  cause: unknown,
  { server, redactor, hasSession }: ErrorContext,
): McpRuntimeError {
  const said = quoteServer(redactor.text(error instanceof Error ? error.message : String(error)));
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  if (typeof code === "number" && code >= 400 && code < 600) {
    const kind = code === 404 && hasSession ? "session-lost" : kindOfStatus(code);
    return new McpRuntimeError(kind, `Server "${server}" answered HTTP ${code}: ${said}`, {
      server,
      status: code,
      cause,
    });
  }
  return new McpRuntimeError("connection-lost", `The transport of server "${server}" failed: ${said}`, {
    server,
    cause,
    outcomeUnknown: true,
  });
}
