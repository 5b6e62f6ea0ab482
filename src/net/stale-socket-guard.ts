import { setImmediate } from "node:timers";

/** For so long what was heard from a server is news of its sockets, too. */
const FRESH_MS = 5;

/**
 * After a quiet time nobody knows whether the server is still there: a socket that it has closed
 * reports that only when the event loop polls, and a request written before is lost, with nobody to
 * tell whether it was run. So, unless the server has just been heard, requests wait one turn.
 */
export class QuietTime {
  #heardAt = Number.NEGATIVE_INFINITY;

  /** The server has said something: the event loop has just polled. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Two turns by the clock of `setImmediate`: the first may come before the loop polls. */
  whenKnown(action: () => void): void {
    if (performance.now() - this.#heardAt < FRESH_MS) action();
    else setImmediate(() => setImmediate(action));
  }
}
