/**
 * Every failure kind with a description of what happened, from the caller's point of view. Errors, call
 * outcomes and events use the same kinds.
 */
export const FAILURE_KINDS = {
  "session-lost": "The server lost the session, and lost it again right after a new handshake.",
  "not-sent": "The request was never sent: connection refused, unknown host, not connected.",
  "connection-lost": "The connection broke after the request was sent; the server may have run it.",
  timeout: "A timeout expired, one of the client's or the caller's.",
  "rate-limited": "The server rejected the request because of its rate limit (429, or 503 with Retry-After).",
  unavailable: "A server, a proxy or a store is temporarily unavailable (502, 503, 504).",
  "server-error": "The server failed while handling the request (other 5xx, -32603).",
  unauthorized: "The server rejected the credentials (401, 403).",
  "not-found":
    "The server does not know the method (-32601) or the resource, or its tool list does not contain the tool.",
  "invalid-request": "The server rejected the request (other 4xx, -32600, -32602, -32700).",
  "invalid-response": "The response is invalid: malformed JSON, not JSON-RPC, or the id of another request.",
  "too-large":
    "The response exceeds `limits.responseBytes` (the rest was not read), or a value exceeds the limit of its store.",
  "unsupported-protocol": "The server and this client have no protocol version in common.",
  "circuit-open": "The circuit breaker is open after repeated failures; nothing was sent.",
  denied: "A user or a rule denied the call before it was sent.",
  closed: "The client or the store was closed.",
  cancelled: "The caller cancelled the request.",
  "invalid-config":
    "The configuration (a server or agent definition, an option) is invalid or needs a package that is not installed.",
  "tool-error": "The tool ran and reported an error.",
} as const;

/** The kind of a failure: a key of {@link FAILURE_KINDS}. */
export type FailureKind = keyof typeof FAILURE_KINDS;

export function isFailureKind(value: unknown): value is FailureKind {
  return typeof value === "string" && Object.hasOwn(FAILURE_KINDS, value);
}
