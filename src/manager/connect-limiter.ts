import type { CancelScope } from "../async/cancel-scope.js";
import type { ServerEndpoint } from "../config/server-config.js";
import type { ManagerSettings } from "./manager-options.js";

interface Waiter {
  readonly group: string;
  readonly start: () => void;
}

const PROGRAMS = "programs";

/**
 * Limits how many servers are connected at the same time: in total, programs, and servers of one host. A host that does
 * not respond has at most half of all slots, so it does not hold back the others. First in, first out, except that the
 * slot of a host that has used all of its own goes to the next server of that host.
 */
export class ConnectLimiter {
  readonly #settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">;
  readonly #waiting = new Set<Waiter>();
  /**
   * The waiters whose group has used all of its slots, by group. Kept separately, so that the others are found without
   * a search.
   */
  readonly #blocked = new Map<string, Set<Waiter>>();
  readonly #usedByGroup = new Map<string, number>();
  #used = 0;

  constructor(settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">) {
    this.#settings = settings;
  }

  /** Waits for a slot. Returns the function that releases it. Rejects on cancellation. */
  acquire({ transport, host, port }: ServerEndpoint, cancellation: CancelScope): Promise<() => void> {
    const group = transport === "stdio" ? PROGRAMS : host === undefined ? "" : `${host}:${port}`;
    return new Promise((resolve, reject) => {
      cancellation.throwIfCancelled();
      const unsubscribe = cancellation.onCancel((reason) => {
        this.#waiting.delete(waiter);
        this.#unblock(waiter);
        reject(reason);
      });
      const waiter: Waiter = {
        group,
        start: () => {
          unsubscribe();
          resolve(() => this.#release(group));
        },
      };
      this.#waiting.add(waiter);
      this.#startNext();
    });
  }

  #startNext(): void {
    for (const waiter of this.#waiting) {
      if (this.#used >= this.#settings.concurrency) return;
      this.#waiting.delete(waiter);
      const used = this.#usedByGroup.get(waiter.group) ?? 0;
      if (used < this.#limitOf(waiter.group)) this.#start(waiter);
      else {
        const blocked = this.#blocked.get(waiter.group) ?? new Set();
        this.#blocked.set(waiter.group, blocked.add(waiter));
      }
    }
  }

  #start(waiter: Waiter): void {
    this.#used += 1;
    this.#usedByGroup.set(waiter.group, (this.#usedByGroup.get(waiter.group) ?? 0) + 1);
    waiter.start();
  }

  #release(group: string): void {
    this.#used -= 1;
    const used = (this.#usedByGroup.get(group) ?? 1) - 1;
    if (used === 0) this.#usedByGroup.delete(group);
    else this.#usedByGroup.set(group, used);
    const [next] = this.#blocked.get(group) ?? [];
    if (next === undefined) return this.#startNext();
    this.#unblock(next);
    this.#start(next);
  }

  #unblock(waiter: Waiter): void {
    const blocked = this.#blocked.get(waiter.group);
    blocked?.delete(waiter);
    if (blocked?.size === 0) this.#blocked.delete(waiter.group);
  }

  #limitOf(group: string): number {
    const { concurrency, programConcurrency } = this.#settings;
    if (group === PROGRAMS) return programConcurrency;
    return group === "" ? concurrency : Math.ceil(concurrency / 2);
  }
}
