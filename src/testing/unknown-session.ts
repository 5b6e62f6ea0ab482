/** Responses of real servers to an unknown session id, by name. */
export const UNKNOWN_SESSION_RESPONSES = {
  /** SDK 1.32 examples, fastmcp, supergateway, the C# SDK. */
  "404 -32001": rpcErrorResponse(404, -32_001, "Session not found"),
  /** The Python SDK. */
  "404 -32600": rpcErrorResponse(404, -32_600, "Session not found"),
  /** The Go SDK, Rust rmcp. */
  "404 text": { status: 404, contentType: "text/plain", body: "session not found\n" },
  /** SDK examples up to 1.31, `@modelcontextprotocol/server-everything`. */
  "400 no valid id": rpcErrorResponse(400, -32_000, "Bad Request: No valid session ID provided"),
  /** A single SDK transport after a restart. */
  "400 not initialized": rpcErrorResponse(400, -32_000, "Bad Request: Server not initialized"),
  "400 header required": rpcErrorResponse(400, -32_000, "Bad Request: Mcp-Session-Id header is required"),
} as const satisfies Record<string, CannedResponse>;

/** The name of a response in `UNKNOWN_SESSION_RESPONSES`. */
export type UnknownSessionResponse = keyof typeof UNKNOWN_SESSION_RESPONSES;

export interface CannedResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

function rpcErrorResponse(status: number, code: number, message: string): CannedResponse {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  return { status, contentType: "application/json", body };
}
