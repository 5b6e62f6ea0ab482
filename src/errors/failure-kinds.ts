/**
 * What can go wrong, in one vocabulary: the same words in errors, outcomes, events and the README.
 * The text says what happened, from the caller's side.
 */
export const FAILURE_KINDS = {
  "session-lost": "The server forgot the session, and forgot it again right after a new handshake.",
  "not-sent": "The request never left: connection refused, unknown host, not connected.",
  "connection-lost": "The connection broke after the request was sent; the server may have run it.",
  timeout: "A deadline passed, ours or the caller's.",
  "rate-limited": "The server declined and said when to come back (429, or 503 with Retry-After).",
  unavailable: "A server, a proxy or a store was not able to answer (502, 503, 504).",
  "server-error": "The server failed while it handled the request (other 5xx, -32603).",
  unauthorized: "The server refused the credentials (401, 403).",
  "not-found":
    "The server does not know the method (-32601) or the resource, or its list is without the tool.",
  "invalid-request": "The server rejected the request (other 4xx, -32600, -32602, -32700).",
  "invalid-response": "What came back is no answer: not JSON-RPC, broken JSON, another request's id.",
  "too-large":
    "The answer is larger than `limits.responseBytes` (the rest was not read), or a value than its store takes.",
  "unsupported-protocol": "The server speaks no protocol version that this client speaks.",
  "circuit-open": "The server failed too often and is left alone for a while; nothing was sent.",
  denied: "A person or a rule said no before the call.",
  closed: "The client or the store was closed.",
  cancelled: "The caller cancelled.",
  "invalid-config":
    "What was written down is wrong (a server or agent definition, an option), or needs a package that is missing.",
  "tool-error": "The tool ran and reported an error.",
} as const;

export type FailureKind = keyof typeof FAILURE_KINDS;

export function isFailureKind(value: unknown): value is FailureKind {
  return typeof value === "string" && Object.hasOwn(FAILURE_KINDS, value);
}
