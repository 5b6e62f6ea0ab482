import type { FailureKind } from "../../errors/failure-kinds.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";

/**
 * When a failed request is retried.
 * - `after-reconnect`: on a new session, up to `session.maxRecoveries` times; always safe, because the server has not run it
 * - `always`: it has not run, or the server declined it
 * - `if-idempotent`: it may have run; retried only if it is idempotent or was provably not sent
 * - `never`: it would fail again, or a person has to act first
 */
export type RetryCondition = "after-reconnect" | "always" | "if-idempotent" | "never";

/** How a kind of failure is handled. */
export interface FailurePolicy {
  /** When the request is retried. */
  readonly retry: RetryCondition;
  /** Whether the failure counts for the circuit breaker. */
  readonly countsForBreaker: boolean;
}

/** How each kind of failure is handled. The table in the docs is generated from this. */
export const FAILURE_POLICIES: Readonly<Record<FailureKind, FailurePolicy>> = {
  "session-lost": { retry: "after-reconnect", countsForBreaker: false },
  "not-sent": { retry: "always", countsForBreaker: true },
  "rate-limited": { retry: "always", countsForBreaker: false },
  "connection-lost": { retry: "if-idempotent", countsForBreaker: true },
  timeout: { retry: "if-idempotent", countsForBreaker: true },
  unavailable: { retry: "if-idempotent", countsForBreaker: true },
  "server-error": { retry: "if-idempotent", countsForBreaker: true },
  unauthorized: { retry: "never", countsForBreaker: false },
  "invalid-response": { retry: "never", countsForBreaker: true },
  "too-large": { retry: "never", countsForBreaker: true },
  "not-found": { retry: "never", countsForBreaker: false },
  "invalid-request": { retry: "never", countsForBreaker: false },
  "unsupported-protocol": { retry: "never", countsForBreaker: false },
  "circuit-open": { retry: "never", countsForBreaker: false },
  denied: { retry: "never", countsForBreaker: false },
  closed: { retry: "never", countsForBreaker: false },
  cancelled: { retry: "never", countsForBreaker: false },
  "invalid-config": { retry: "never", countsForBreaker: false },
  "tool-error": { retry: "never", countsForBreaker: false },
};

/**
 * Whether a call may have run, or has run, although it failed. As for retries: a server that responds with an error of its
 * own, such as -32603, may have begun to run it; and one that responds with an invalid result has run it.
 */
export function mayHaveRun({ kind, code, attempts, outcomeUnknown }: McpRuntimeError): boolean {
  const isServerFailure = code !== undefined && FAILURE_POLICIES[kind].retry === "if-idempotent";
  return outcomeUnknown || (attempts > 0 && (isServerFailure || kind === "invalid-response"));
}
