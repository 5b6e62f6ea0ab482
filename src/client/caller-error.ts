import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** A caller's own reason goes back as it is; only a deadline that the caller set is told as `timeout`. */
export function toCallerError(error: unknown, signal: AbortSignal | undefined, server: string): unknown {
  if (error instanceof McpRuntimeError || signal?.aborted !== true || error !== signal.reason) return error;
  const isTimeout = error instanceof Error && error.name === "TimeoutError";
  if (!isTimeout) return error;
  return new McpRuntimeError("timeout", `The caller's signal for server "${server}" ran out of time.`, {
    server,
    cause: error,
  });
}
