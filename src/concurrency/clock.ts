/** Time, as a parameter: tests hold it still. */
export interface Clock {
  /** Milliseconds that only ever grow; differences count, not the value. */
  now(): number;
  /** Runs `action` once after `ms`; the function that comes back prevents it. */
  after(ms: number, action: () => void): () => void;
}

/** `setTimeout` fires at once when it is given more than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
