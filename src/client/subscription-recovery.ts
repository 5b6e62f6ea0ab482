import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { delay } from "../async/delay.js";
import type { RequestOptions } from "./call-options.js";
import type { ResourceSubscriptions } from "./resource-subscriptions.js";

interface RevivalParts {
  readonly clock: Clock;
  readonly subscriptions: ResourceSubscriptions;
  readonly ping: (options: RequestOptions) => Promise<unknown>;
  readonly warn: (message: string) => void;
}

/** A server that forgets every session at once is not asked for the next one at once. */
const WAIT_MS = 1_000;
/** A connection that does not hold as long as this is not opened again for the sake of updates. */
const SHORT_LIFE_MS = 30_000;

/**
 * Brings back a session that is gone while somebody waits for updates of resources, who may not call
 * anything for days. A ping finds out, and is given a new session like any request.
 */
export class SubscriptionRevival {
  readonly #parts: RevivalParts;
  readonly #underWay = new Set<string>();
  /** When each identity's connection was lost, in one life of the client: a new one knows nothing of it. */
  readonly #losses = new WeakMap<CancelScope, Map<string, number>>();

  constructor(parts: RevivalParts) {
    this.#parts = parts;
  }

  /** The connection went by itself. The cancellation is that of the client's life. */
  async afterLoss(identity: string, cancellation: CancelScope): Promise<void> {
    const { clock, subscriptions } = this.#parts;
    if (subscriptions.askerOf(identity) === undefined) return;
    const losses = this.#losses.get(cancellation) ?? new Map<string, number>();
    const before = losses.get(identity) ?? -Infinity;
    this.#losses.set(cancellation, losses.set(identity, clock.now()));
    if (clock.now() - before < SHORT_LIFE_MS) this.#giveUp("The connection was lost again.");
    else await this.afterForgetting(identity, cancellation);
  }

  /** The server has forgotten the session. Does nothing where nobody waits. Never rejects. */
  async afterForgetting(identity: string, cancellation: CancelScope): Promise<void> {
    const { clock, subscriptions, ping } = this.#parts;
    const asker = subscriptions.askerOf(identity);
    if (asker === undefined || this.#underWay.has(identity)) return;
    this.#underWay.add(identity);
    try {
      await delay(WAIT_MS, clock, cancellation);
      await ping({ context: asker.context });
    } catch (error) {
      if (cancellation.isCancelled) return;
      this.#giveUp(String(error));
    } finally {
      this.#underWay.delete(identity);
    }
  }

  /** The identity has no connection any more that could be lost. */
  forget(identity: string, cancellation: CancelScope): void {
    this.#losses.get(cancellation)?.delete(identity);
  }

  #giveUp(why: string): void {
    this.#parts.warn(`Updates of resources are not heard before the next request: ${why}`);
  }
}
