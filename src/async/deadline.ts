import type { CancelScope } from "./cancel-scope.js";
import type { Clock } from "./clock.js";

interface DeadlineOptions {
  /** 0 means none. */
  readonly ms: number;
  readonly clock: Clock;
  readonly cancellation: CancelScope;
  /** What the work is ended with when time is up. */
  readonly expired: () => unknown;
}

/** Gives work a limited time, and a cancellation of its own which ends it when time is up. */
export async function withDeadline<T>(
  { ms, clock, cancellation, expired }: DeadlineOptions,
  work: (cancellation: CancelScope) => Promise<T>,
): Promise<T> {
  if (ms === 0) return work(cancellation);
  const limited = cancellation.child();
  const disarm = clock.after(ms, () => limited.cancel(expired()));
  try {
    return await work(limited);
  } finally {
    disarm();
    limited.release();
  }
}
