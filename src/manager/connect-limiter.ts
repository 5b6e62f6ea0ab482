import type { CancelScope } from "../async/cancel-scope.js";
import { Semaphore } from "../async/semaphore.js";
import type { ServerEndpoint } from "../config/server-config.js";
import type { ManagerSettings } from "./manager-options.js";

const PROGRAMS = "programs";

/**
 * Limits how many servers are connected at the same time: in total, programs, and servers of one host. A host that does
 * not respond has at most half of all slots, so it does not hold back the others. First in, first out; a server waits for
 * a slot of its host first, and then for one of all.
 */
export class ConnectLimiter {
  readonly #settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">;
  readonly #total: Semaphore;
  /** The slots of each host, and those of all programs. */
  readonly #groups = new Map<string, Semaphore>();

  constructor(settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">) {
    this.#settings = settings;
    this.#total = new Semaphore(settings.concurrency);
  }

  /** Waits for a slot. Returns the function that releases it. Rejects on cancellation. */
  async acquire(endpoint: ServerEndpoint, cancellation: CancelScope): Promise<() => void> {
    const releaseGroup = await this.#acquireInGroup(endpoint, cancellation);
    try {
      const release = await this.#total.acquire(cancellation);
      return () => {
        release();
        releaseGroup?.();
      };
    } catch (error) {
      releaseGroup?.();
      throw error;
    }
  }

  async #acquireInGroup({ transport, host, port }: ServerEndpoint, cancellation: CancelScope) {
    const { concurrency, programConcurrency } = this.#settings;
    const isProgram = transport === "stdio";
    // Servers that are connected one by one keep their order.
    if (concurrency === 1 || (!isProgram && host === undefined)) return undefined;
    cancellation.throwIfCancelled();
    const name = isProgram ? PROGRAMS : `${host}:${port}`;
    const limit = isProgram ? programConcurrency : Math.ceil(concurrency / 2);
    const group = this.#groups.get(name) ?? new Semaphore(limit);
    this.#groups.set(name, group);
    const release = await group.acquire(cancellation);
    return () => {
      release();
      if (group.isIdle) this.#groups.delete(name);
    };
  }
}
