import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/**
 * How a session ended.
 * - `retired`: the server forgot it; another one takes its place
 * - `lost`: the transport below is gone
 * - `closed`: the client was closed
 */
export type SessionEnd = "retired" | "lost" | "closed";

/** What a request that comes too late is told. */
export function tooLate(server: string, end: SessionEnd): McpRuntimeError {
  if (end === "closed")
    return new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
  return new McpRuntimeError("not-sent", `The session with server "${server}" is gone.`, { server });
}

/** What a request that was under way when the transport went is told. */
export function brokenOff(server: string, end: SessionEnd): McpRuntimeError {
  if (end === "closed") return tooLate(server, end);
  const text = `The connection to server "${server}" ended before it answered. It may have run the request.`;
  return new McpRuntimeError("connection-lost", text, { server, outcomeUnknown: true });
}
