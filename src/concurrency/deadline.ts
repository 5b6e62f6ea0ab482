import type { Cancellation } from "./cancellation.js";
import type { Clock } from "./clock.js";

export interface DeadlineOptions {
  /** 0 means none. */
  readonly ms: number;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  /** What the work is ended with when time is up. */
  readonly expired: () => unknown;
}

/**
 * Gives work a limited time. The work gets a cancellation of its own, which ends it when time is up,
 * and `restart`, which gives it the whole time once more.
 */
export async function withDeadline<T>(
  { ms, clock, cancellation, expired }: DeadlineOptions,
  work: (cancellation: Cancellation, restart: () => void) => Promise<T>,
): Promise<T> {
  if (ms === 0) return work(cancellation, () => undefined);
  const limited = cancellation.child();
  const arm = () => clock.after(ms, () => limited.cancel(expired()));
  let disarm = arm();
  let isOver = false;
  const restart = () => {
    if (isOver) return;
    disarm();
    disarm = arm();
  };
  try {
    return await work(limited, restart);
  } finally {
    isOver = true;
    disarm();
    limited.release();
  }
}
