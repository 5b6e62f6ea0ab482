import { type Clock, systemClock } from "./clock.js";
import { Roster } from "./roster.js";

/** Shorter ones are rare, and longer ones too: they have timers of their own. */
const SHORTEST_POOLED_MS = 100;
const LONGEST_POOLED_MS = 3_600_000;

interface Waiting {
  readonly dueAt: number;
  readonly action: () => void;
}

/**
 * The system's clock, for whoever sets the same timer again and again and almost never lets it fire, as
 * a deadline of every call: all timers of one length share one of Node's, which is kept when nobody waits
 * and then keeps no process alive. A timer of its own costs a local call 5 %, most of it in the kernel.
 */
export class PooledClock implements Clock {
  readonly #pools = new Map<number, TimerPool>();

  now(): number {
    return systemClock.now();
  }

  after(ms: number, action: () => void): () => void {
    const isPooled = ms >= SHORTEST_POOLED_MS && ms <= LONGEST_POOLED_MS && Number.isInteger(ms);
    if (!isPooled) return systemClock.after(ms, action);
    const known = this.#pools.get(ms);
    const pool = known ?? new TimerPool(ms, () => this.#pools.delete(ms));
    if (known === undefined) this.#pools.set(ms, pool);
    return pool.add(action);
  }
}

/** Timers of one length: who comes first is due first. */
class TimerPool {
  readonly #ms: number;
  readonly #onIdle: () => void;
  readonly #waiting = new Roster<Waiting>();
  #timer: NodeJS.Timeout;

  /** `onIdle`: its time was up, and nobody waited. */
  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms;
    this.#onIdle = onIdle;
    this.#timer = this.#arm(ms);
  }

  add(action: () => void): () => void {
    if (this.#waiting.isEmpty) this.#timer.ref();
    const place = this.#waiting.enter({ dueAt: systemClock.now() + this.#ms, action });
    return () => {
      if (this.#waiting.leave(place) && this.#waiting.isEmpty) this.#timer.unref();
    };
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#fire(), ms);
  }

  #fire(): void {
    try {
      while (isDue(this.#waiting.first)) this.#waiting.shift()?.action();
    } finally {
      const { first: next } = this.#waiting;
      if (next === undefined) this.#onIdle();
      else this.#timer = this.#arm(next.dueAt - systemClock.now());
    }
  }
}

/** Node's timers count whole milliseconds, and may be one early. */
function isDue(waiting: Waiting | undefined): boolean {
  return waiting !== undefined && waiting.dueAt - systemClock.now() < 1;
}
