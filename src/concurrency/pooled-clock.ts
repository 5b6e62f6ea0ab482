import { type Clock, systemClock } from "./clock.js";

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
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout;

  /** `onIdle`: its time was up, and nobody waited. */
  constructor(ms: number, onIdle: () => void) {
    this.#ms = ms;
    this.#onIdle = onIdle;
    this.#timer = this.#arm(ms);
  }

  add(action: () => void): () => void {
    const waiting = { dueAt: systemClock.now() + this.#ms, action };
    this.#waiting.add(waiting);
    if (this.#waiting.size === 1) this.#timer.ref();
    return () => {
      if (this.#waiting.delete(waiting) && this.#waiting.size === 0) this.#timer.unref();
    };
  }

  #arm(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#fire(), ms);
  }

  #fire(): void {
    try {
      for (const waiting of this.#waiting) {
        if (!isDue(waiting)) break;
        this.#waiting.delete(waiting);
        waiting.action();
      }
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#onIdle();
      else this.#timer = this.#arm(next.dueAt - systemClock.now());
    }
  }
}

/** Node's timers count whole milliseconds, and may be one early. */
function isDue({ dueAt }: Waiting): boolean {
  return dueAt - systemClock.now() < 1;
}
