import type { CancelScope } from "./cancel-scope.js";

/** The time source. Tests replace it. */
export interface Clock {
  /** Monotonic time in milliseconds. Only differences are meaningful. */
  now(): number;
  /**
   * Runs `action` once after `ms` milliseconds. Returns a function that cancels the timer. With `unref`, the timer does
   * not keep the process alive.
   */
  after(ms: number, action: () => void, options?: { readonly unref?: boolean }): () => void;
}

/** `setTimeout` fires immediately for longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of the process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, action, options) {
    keepTimerList(ms);
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    if (options?.unref === true) timer.unref();
    return () => clearTimeout(timer);
  },
};

const MIN_KEPT_MS = 100;
const MAX_KEPT_MS = 60_000;
const MAX_KEPT_DURATIONS = 32;
const keptDurations = new Set<number>();

/**
 * Node has a list of timers for each duration, and removes it with its last timer. Calls set and clear timers of the same
 * durations: making the lists again takes up to 4 % of the CPU time of a call (decision 18). A timer that does nothing, and
 * does not keep the process alive, keeps the list.
 */
function keepTimerList(ms: number): void {
  const isKept = keptDurations.has(ms) || keptDurations.size >= MAX_KEPT_DURATIONS;
  if (isKept || ms < MIN_KEPT_MS || ms > MAX_KEPT_MS || !Number.isInteger(ms)) return;
  keptDurations.add(ms);
  setTimeout(() => keptDurations.delete(ms), ms).unref();
}

/** Waits `ms` milliseconds; rejects with the reason on cancellation. With `unref`, see `Clock.after`. */
export function delay(
  ms: number,
  clock: Clock,
  cancellation: CancelScope,
  options?: { readonly unref?: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onElapsed = () => {
      unsubscribe();
      resolve();
    };
    const cancelTimer = clock.after(ms, onElapsed, options);
    const unsubscribe = cancellation.onCancel((reason) => {
      cancelTimer();
      reject(reason);
    });
  });
}

/** A time limit within a scope. */
export interface DeadlineOptions {
  /** The time limit in milliseconds; 0 and `Infinity` mean no limit. */
  readonly ms: number;
  readonly clock: Clock;
  readonly cancellation: CancelScope;
  /** Creates the cancellation reason when the deadline expires. */
  readonly createError: () => unknown;
}

/** Runs `work` with a child scope that is cancelled when the deadline expires. */
export async function withDeadline<T>(
  { ms, clock, cancellation, createError }: DeadlineOptions,
  work: (cancellation: CancelScope) => Promise<T>,
): Promise<T> {
  if (ms === 0 || ms === Number.POSITIVE_INFINITY) return work(cancellation);
  const scope = cancellation.child();
  const cancelTimer = clock.after(ms, () => scope.cancel(createError()));
  try {
    return await work(scope);
  } finally {
    cancelTimer();
    scope.dispose();
  }
}

/** Settles like the promise, or rejects when the deadline expires or the scope is cancelled. Does not stop the work. */
export function raceDeadline<T>(deadline: DeadlineOptions, pending: PromiseLike<T>): Promise<T> {
  return withDeadline(deadline, (scope) => scope.race(Promise.resolve(pending)));
}

/** Waits until `work` settles, at most `ms` milliseconds. Never throws. */
export async function settleWithin(ms: number, clock: Clock, work: () => unknown): Promise<void> {
  let cancelTimer: (() => void) | undefined;
  const timeout = new Promise<void>((resolve) => {
    cancelTimer = clock.after(ms, resolve);
  });
  const settled = (async () => work())().catch(() => undefined);
  await Promise.race([settled, timeout]);
  cancelTimer?.();
}
