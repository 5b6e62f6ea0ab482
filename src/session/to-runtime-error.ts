import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { failureIn } from "../transports/json-rpc.js";
import { type ErrorContext, toRpcFailure } from "./rpc-failure.js";

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
  const message = error.message.replace(/^MCP error -?\d+: /, "");
  return toRpcFailure({ code: error.code, message }, { server, redactor, method }, error);
}

function unexpected(error: unknown, { server, redactor }: ErrorContext): McpRuntimeError {
  const said = redactor.text(String(error));
  return new McpRuntimeError(
    "invalid-response",
    `Something unexpected happened with server "${server}": ${said}`,
    {
      server,
      cause: redactor.cause(error),
      outcomeUnknown: true,
    },
  );
}
