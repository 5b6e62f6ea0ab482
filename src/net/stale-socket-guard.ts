import { setImmediate } from "node:timers";

/** Activity of a server within this time proves that its sockets are still open. */
const RECENT_MS = 5;

/**
 * Delays a request on a possibly closed socket until the event loop has polled. A socket that the server
 * closed while idle reports that only in the poll phase; a request written before it is lost, with an
 * unknown outcome. Without recent activity of the server, requests therefore wait for one poll.
 */
export class StaleSocketGuard {
  #lastActiveAt = Number.NEGATIVE_INFINITY;

  /** Call when data was received from the server: the event loop has just polled. */
  markActive(): void {
    this.#lastActiveAt = performance.now();
  }

  /** Uses two `setImmediate` turns, because the first may run before the poll phase. */
  afterPoll(action: () => void): void {
    if (performance.now() - this.#lastActiveAt < RECENT_MS) action();
    else setImmediate(() => setImmediate(action));
  }
}
