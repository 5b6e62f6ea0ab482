import { AsyncResource } from "node:async_hooks";

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
    if (ms !== lastRetainedMs) retainTimerList(ms);
    const timer = setTimeout(action, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** The range of typical deadlines. Shorter timers are rare; longer ones would be retained for too long. */
const MIN_RETAINED_MS = 100;
const MAX_RETAINED_MS = 60_000;
const MAX_RETAINED = 16;
/** Process-wide, like Node's timer lists. */
const retainedMs = new Set<number>();
/** The last retained duration, as a fast path: most timers of a process have the same duration. */
let lastRetainedMs: number | undefined;
/** Retainers run in this async context, so that they do not keep the context of a call alive. */
const detachedResource = new AsyncResource("LangChainMcpTimers");

/**
 * Node keeps one list per timer duration, creates it for the first timer and drops it with the last. With
 * sequential calls that costs 4 % of a local call. An unreferenced timer that does nothing retains the list.
 */
function retainTimerList(ms: number): void {
  if (!retainedMs.has(ms) && !startRetainer(ms)) return;
  lastRetainedMs = ms;
}

/** Returns whether a retainer was started. */
function startRetainer(ms: number): boolean {
  if (retainedMs.size >= MAX_RETAINED) return false;
  if (ms < MIN_RETAINED_MS || ms > MAX_RETAINED_MS || !Number.isInteger(ms)) return false;
  retainedMs.add(ms);
  detachedResource.runInAsyncScope(() => setTimeout(() => dropRetainer(ms), ms).unref());
  return true;
}

function dropRetainer(ms: number): void {
  retainedMs.delete(ms);
  if (lastRetainedMs === ms) lastRetainedMs = undefined;
}
