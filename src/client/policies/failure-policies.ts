import type { FailureKind } from "../../errors/failure-kinds.js";

/**
 * When a failed request is sent again.
 * - `after a new handshake`: once, and always safe: the server has not run it
 * - `yes`: it has not run, or the server declined it
 * - `if idempotent`: it may have run, so only where that does no harm, or where it certainly was not sent
 * - `no`: it would fail again, or somebody has to act first
 */
export type Repetition = "after a new handshake" | "yes" | "if idempotent" | "no";

export interface FailurePolicy {
  readonly repeat: Repetition;
  /** Whether it says that the server is not well. */
  readonly countsForBreaker: boolean;
}

/** What follows from each kind of failure. The README's table is printed from here. */
export const FAILURE_MATRIX: Readonly<Record<FailureKind, FailurePolicy>> = {
  "session-lost": { repeat: "after a new handshake", countsForBreaker: false },
  "not-sent": { repeat: "yes", countsForBreaker: true },
  "rate-limited": { repeat: "yes", countsForBreaker: false },
  "connection-lost": { repeat: "if idempotent", countsForBreaker: true },
  timeout: { repeat: "if idempotent", countsForBreaker: true },
  unavailable: { repeat: "if idempotent", countsForBreaker: true },
  "server-error": { repeat: "if idempotent", countsForBreaker: true },
  unauthorized: { repeat: "no", countsForBreaker: false },
  malformed: { repeat: "no", countsForBreaker: true },
  "too-large": { repeat: "no", countsForBreaker: true },
  "not-found": { repeat: "no", countsForBreaker: false },
  "invalid-request": { repeat: "no", countsForBreaker: false },
  "unsupported-protocol": { repeat: "no", countsForBreaker: false },
  "circuit-open": { repeat: "no", countsForBreaker: false },
  refused: { repeat: "no", countsForBreaker: false },
  closed: { repeat: "no", countsForBreaker: false },
  cancelled: { repeat: "no", countsForBreaker: false },
  definition: { repeat: "no", countsForBreaker: false },
  "tool-error": { repeat: "no", countsForBreaker: false },
};
