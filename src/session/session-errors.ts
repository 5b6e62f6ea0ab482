import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

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
