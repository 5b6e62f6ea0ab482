import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** Why a server could not be connected, whatever was thrown. */
export function toFailure(error: unknown): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  return new McpRuntimeError("server-error", `It could not be connected: ${String(error)}`, { cause: error });
}
