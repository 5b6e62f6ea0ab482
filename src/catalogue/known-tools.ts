import type { Cancellation } from "../concurrency/cancellation.js";
import { type Clock, systemClock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import type { ToolSource } from "./tool-source.js";

/** A list is believed for this long, and asked for no more often. */
const FRESH_MS = 60_000;
/** How long somebody who has a failure in hand waits to hear what it was. */
const MAX_WAIT_MS = 5_000;

/**
 * Which tools a server has: it answers a call of one that it does not have as it answers one that
 * failed, and only its list tells the two apart.
 */
export class KnownTools {
  readonly #source: ToolSource;
  readonly #clock: Clock;
  #names: ReadonlySet<string> | undefined;
  #listing: Promise<void> | undefined;
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(source: ToolSource, clock: Clock = systemClock) {
    this.#source = source;
    this.#clock = clock;
  }

  /**
   * Whether the server's list is without this tool. Asks for it at most once a minute, for all who
   * want to know. No when it cannot be had: then nobody can tell.
   */
  async lacks(name: string, cancellation: Cancellation): Promise<boolean> {
    const clock = this.#clock;
    if (this.#listing === undefined || clock.now() - this.#listedAt >= FRESH_MS) {
      this.#listedAt = clock.now();
      this.#listing = this.#list();
    }
    const listing = this.#listing;
    const deadline = { ms: MAX_WAIT_MS, clock, cancellation, expired: () => undefined };
    await withDeadline(deadline, (limited) => limited.race(listing)).catch(() =>
      cancellation.throwIfCancelled(),
    );
    return this.#names !== undefined && !this.#names.has(name);
  }

  /** Without a caller's signal: others wait for it, too. */
  async #list(): Promise<void> {
    this.#names = undefined;
    try {
      const tools = await this.#source.listTools({ timeoutMs: MAX_WAIT_MS });
      this.#names = new Set(tools.map(({ name }) => name));
    } catch {
      // The failure in hand stays what it is.
    }
  }
}
