import type { FailureKind } from "../../errors/failure-kinds.js";

/**
 * When a failed request is sent again.
 * - `after-reconnect`: once, and always safe: the server has not run it
 * - `always`: it has not run, or the server declined it
 * - `if-idempotent`: it may have run, so only where that does no harm, or where it certainly was not sent
 * - `never`: it would fail again, or somebody has to act first
 */
export type RetryCondition = "after-reconnect" | "always" | "if-idempotent" | "never";

export interface FailurePolicy {
  readonly retry: RetryCondition;
  /** Whether it says that the server is not well. */
  readonly countsForBreaker: boolean;
}

/** What follows from each kind of failure. The README's table is printed from here. */
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
