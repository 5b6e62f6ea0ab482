import { RPC_CODES } from "./rpc-codes.js";

/**
 * Every failure kind with a description of what happened, from the caller's point of view. Errors, call
 * outcomes and events use the same kinds.
 */
export const FAILURE_KINDS = {
  "session-lost":
    "The server lost the session, and also the new ones that the call opened (session.maxRecoveries).",
  "not-sent":
    "The request never reached the server: connection refused, unknown host, not connected, a proxy without a server.",
  "connection-lost": "The connection broke after the request was sent; the server may have run it.",
  timeout: "A timeout expired, one of the client's or the caller's.",
  "rate-limited": "The server rejected the request because of its rate limit (429, or 503 with Retry-After).",
  unavailable: "A server, a proxy or a store is temporarily unavailable (502, 503, 504).",
  "server-error": "The server failed while handling the request (other 5xx, -32603).",
  unauthorized: "The credentials are missing, or the server (401, 403) or the store rejected them.",
  "not-found":
    "The server does not know the method (-32601) or the resource, or its tool list does not contain the tool.",
  "invalid-request": "The server rejected the request (other 4xx, -32600, -32602, -32700).",
  "invalid-response":
    "The response is invalid: malformed HTTP or JSON, not JSON-RPC, or the id of another request.",
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

/** What is known about a failed request. Every field is optional: leave out what is not known. */
export interface FailureEvidence {
  /** The HTTP status of the response. */
  readonly status?: number | undefined;
  /** The JSON-RPC error code, from a JSON-RPC error response or from the body of an HTTP error response. */
  readonly code?: number | undefined;
  /** The response has a `Retry-After` header. */
  readonly hasRetryAfter?: boolean | undefined;
  /** The request carried a session id. */
  readonly hadSession?: boolean | undefined;
  /** The response text reports an unknown session. */
  readonly reportsUnknownSession?: boolean | undefined;
  /** A proxy reports that it has no server to send the request to. */
  readonly reportsNoUpstream?: boolean | undefined;
  /** The called tool is not in the server's tool list. */
  readonly isToolMissing?: boolean | undefined;
  /** Invalid params mean that the server does not have the requested resource or prompt. */
  readonly isUnknownItem?: boolean | undefined;
  /** Whether the request reached the server, if known. Only relevant without a response. */
  readonly wasSent?: boolean | undefined;
  /** The network error code of each attempted address, such as `ECONNREFUSED`. */
  readonly networkCodes?: readonly unknown[] | undefined;
}

const INVALID_REQUEST_CODES: ReadonlySet<number> = new Set([
  RPC_CODES.parseError,
  RPC_CODES.invalidRequest,
  RPC_CODES.invalidParams,
  RPC_CODES.missingCapability,
]);
/** Error codes of a connection that was never established. */
const CONNECT_ERROR_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

type ClassificationRule = readonly [FailureKind, (evidence: FailureEvidence) => boolean | undefined];

/**
 * Maps HTTP statuses, JSON-RPC codes and network errors to a kind; the first matching rule wins. Kinds without
 * a rule (`timeout`, `too-large`, `closed` …) are created directly where they occur.
 *
 * Other JSON-RPC codes, in particular -32000 to -32019, have no agreed meaning and become `server-error`.
 */
const CLASSIFICATION_RULES: readonly ClassificationRule[] = [
  ["not-found", ({ isToolMissing }) => isToolMissing],
  ["unsupported-protocol", ({ code }) => code === RPC_CODES.unsupportedVersion],
  [
    "session-lost",
    ({ hadSession, status, code }) => hadSession && status === 404 && code !== RPC_CODES.methodNotFound,
  ],
  [
    "session-lost",
    ({ hadSession, status, reportsUnknownSession }) => hadSession && status === 400 && reportsUnknownSession,
  ],

  ["unauthorized", ({ status }) => status === 401 || status === 403],
  ["rate-limited", ({ status }) => status === 429],
  ["rate-limited", ({ status, hasRetryAfter }) => status === 503 && hasRetryAfter],
  ["not-sent", ({ status, reportsNoUpstream }) => status === 503 && reportsNoUpstream],
  ["unavailable", ({ status }) => status === 502 || status === 503 || status === 504],
  ["server-error", ({ status }) => status !== undefined && status >= 500],
  [
    "not-found",
    ({ code, status }) =>
      code === RPC_CODES.methodNotFound || (code === RPC_CODES.notFound && status === undefined),
  ],
  ["invalid-request", ({ status }) => status !== undefined],
  // The official SDK's servers return -32602 for unknown resources and prompts.
  ["not-found", ({ code, isUnknownItem }) => isUnknownItem && code === RPC_CODES.invalidParams],

  ["invalid-request", ({ code }) => code !== undefined && INVALID_REQUEST_CODES.has(code)],
  ["server-error", ({ code }) => code !== undefined],

  ["not-sent", ({ wasSent }) => wasSent === false],
  [
    "not-sent",
    ({ wasSent, networkCodes }) =>
      wasSent === undefined && networkCodes?.some((code) => CONNECT_ERROR_CODES.has(code)),
  ],
];

/** Returns the kind of a failure. A request that was sent and got no response is `connection-lost`. */
export function classifyFailure(evidence: FailureEvidence): FailureKind {
  return CLASSIFICATION_RULES.find(([, matches]) => matches(evidence) === true)?.[0] ?? "connection-lost";
}

const OUTCOME_UNKNOWN_KINDS: ReadonlySet<FailureKind> = new Set([
  "connection-lost",
  "unavailable",
  "server-error",
]);

/**
 * Whether the server may have run a request that failed with this kind. For failures derived from an HTTP
 * status or the network; after a JSON-RPC error response the outcome is always known.
 */
export function isOutcomeUnknown(kind: FailureKind): boolean {
  return OUTCOME_UNKNOWN_KINDS.has(kind);
}

/** Returns a hint for fixing an error with this JSON-RPC code, or an empty string. */
export function hintForCode(code: number | undefined): string {
  return code === RPC_CODES.missingCapability
    ? "The server needs a client capability: configure a handler in its definition (onElicitationRequest, onSamplingRequest or roots)."
    : "";
}

/** Returns the `code` of a Node, undici or SDK error; `undefined` for anything else. */
export function errorCode(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
}
