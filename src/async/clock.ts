import { AsyncResource } from "node:async_hooks";

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
    if (ms !== lastKept) keepList(ms);
    const timer = setTimeout(action, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** The lengths of deadlines; shorter timers are rare, and longer ones would be kept for long. */
const SHORTEST_KEPT_MS = 100;
const LONGEST_KEPT_MS = 60_000;
const MOST_KEPT = 16;
/** Of the process, as Node's lists are. */
const kept = new Set<number>();
/** One of them, for a quick look: most timers of a process have one length. */
let lastKept: number | undefined;
/** What is made here belongs to no call, and keeps nothing that belongs to one. */
const outside = new AsyncResource("LangChainMcpTimers");

/**
 * Node keeps the timers of one length in a list, makes it for the first and drops it with the last: for
 * a deadline of one call after the other that is 4 % of a local call. A timer that does nothing, and
 * keeps no process alive, keeps the list.
 */
function keepList(ms: number): void {
  if (!kept.has(ms) && !makeKept(ms)) return;
  lastKept = ms;
}

/** Whether there is one to keep it now. */
function makeKept(ms: number): boolean {
  if (kept.size >= MOST_KEPT) return false;
  if (ms < SHORTEST_KEPT_MS || ms > LONGEST_KEPT_MS || !Number.isInteger(ms)) return false;
  kept.add(ms);
  outside.runInAsyncScope(() => setTimeout(() => forget(ms), ms).unref());
  return true;
}

function forget(ms: number): void {
  kept.delete(ms);
  if (lastKept === ms) lastKept = undefined;
}
