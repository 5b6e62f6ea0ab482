/** The time source. Tests replace it. */
export interface Clock {
  /** Monotonic time in milliseconds. Only differences are meaningful. */
  now(): number;
  /** Runs `action` once after `ms` milliseconds. Returns a function that cancels the timer. */
  after(ms: number, action: () => void): () => void;
}

/** `setTimeout` fires immediately for longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of the process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
