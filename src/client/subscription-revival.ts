import type { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { delay } from "../concurrency/delay.js";
import type { RequestOptions } from "./call-tool.js";
import type { ResourceSubscriptions } from "./resource-subscriptions.js";

interface RevivalParts {
  readonly clock: Clock;
  readonly subscriptions: ResourceSubscriptions;
  readonly ping: (options: RequestOptions) => Promise<unknown>;
  readonly warn: (message: string) => void;
}

/** A server that forgets every session at once is not asked for the next one at once. */
const WAIT_MS = 1_000;

/**
 * Brings back a session that a server has forgotten while somebody waits for updates of resources,
 * who may not call anything for days. A ping finds out, and is given a new session like any request.
 */
export class SubscriptionRevival {
  readonly #parts: RevivalParts;
  readonly #underWay = new Set<string>();

  constructor(parts: RevivalParts) {
    this.#parts = parts;
  }

  /** Does nothing where nobody waits. Never rejects. */
  async begin(identity: string, cancellation: Cancellation): Promise<void> {
    const { clock, subscriptions, ping, warn } = this.#parts;
    const asker = subscriptions.askerOf(identity);
    if (asker === undefined || this.#underWay.has(identity)) return;
    this.#underWay.add(identity);
    try {
      await delay(WAIT_MS, clock, cancellation);
      await ping({ context: asker.context });
    } catch (error) {
      if (cancellation.isCancelled) return;
      warn(`Updates of resources are not heard before the next request: ${String(error)}`);
    } finally {
      this.#underWay.delete(identity);
    }
  }
}
