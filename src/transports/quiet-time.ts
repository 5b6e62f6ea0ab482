import { setImmediate } from "node:timers";

/** A turn may be long: what was heard before a caller's own work is old. */
const FRESH_MS = 5;

/**
 * After a quiet time nobody knows whether the server is still there: a socket that it has closed
 * reports that only when the event loop polls, and a request written before is lost, with nobody to
 * tell whether it was run. So, unless the server has just been heard, requests wait one turn.
 */
export class QuietTime {
  #isHeard = false;
  #heardAt = 0;

  /** The server has said something; what we know of its sockets is fresh until this turn ends. */
  heard(): void {
    this.#heardAt = performance.now();
    if (this.#isHeard) return;
    this.#isHeard = true;
    setImmediate(() => {
      this.#isHeard = false;
    });
  }

  /** Two turns by the clock of `setImmediate`: the first may come before the loop polls. */
  whenKnown(action: () => void): void {
    if (this.#isHeard && performance.now() - this.#heardAt < FRESH_MS) action();
    else setImmediate(() => setImmediate(action));
  }
}
