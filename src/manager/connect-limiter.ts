import type { CancelScope } from "../async/cancel-scope.js";
import { Semaphore } from "../async/semaphore.js";
import type { ServerEndpoint } from "../config/server-config.js";
import type { ManagerSettings } from "./manager-options.js";

const PROGRAMS = "programs";

/**
 * Limits how many servers are connected at the same time: in total, for programs, and per host. A host that does
 * not respond has at most half of all slots, so it does not hold back the others. First in, first out; a server waits for
 * a slot of its host first, and then for one of all.
 */
export class ConnectLimiter {
  readonly #settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">;
  readonly #total: Semaphore;
  /** The slots of each host, those of all programs, and those of all servers without a host. */
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
    if (concurrency === 1) return undefined;
    cancellation.throwIfCancelled();
    // Those without a host wait like the others, or they would overtake servers that are to start first.
    const hostLimit = host === undefined ? concurrency : Math.ceil(concurrency / 2);
    const limit = isProgram ? programConcurrency : hostLimit;
    const hostName = host === undefined ? "" : `${host}:${port}`;
    const name = isProgram ? PROGRAMS : hostName;
    const group = this.#groups.get(name) ?? new Semaphore(limit);
    this.#groups.set(name, group);
    const release = await group.acquire(cancellation);
    return () => {
      release();
      if (group.isIdle) this.#groups.delete(name);
    };
  }
}
