import type { Clock } from "../../src/concurrency/clock.js";

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/** A clock that stands still until it is told to go on. Nothing fires outside of `advance`. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  /** How many timers are still to fire: 0 says that nothing was left behind. */
  get pending(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Fires what falls due, in order, also what is set on the way. Promises settle after it, not in it. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let next = this.#nextBy(end); next !== undefined; next = this.#nextBy(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }

  /** The earliest; of two at the same moment, the one that was set first. */
  #nextBy(end: number): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && (earliest === undefined || timer.at < earliest.at)) earliest = timer;
    }
    return earliest;
  }
}
