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
 * not respond has at most half of all slots, so it does not hold back the others. Otherwise first in, first out.
 */
export class ConnectSlots {
  readonly #settings: Pick<ManagerSettings, "concurrency" | "programConcurrency">;
  readonly #waiting = new Set<Waiter>();
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
      const used = this.#usedByGroup.get(waiter.group) ?? 0;
      if (used >= this.#limitOf(waiter.group)) continue;
      this.#waiting.delete(waiter);
      this.#used += 1;
      this.#usedByGroup.set(waiter.group, used + 1);
      waiter.start();
    }
  }

  #release(group: string): void {
    this.#used -= 1;
    this.#usedByGroup.set(group, (this.#usedByGroup.get(group) ?? 1) - 1);
    this.#startNext();
  }

  #limitOf(group: string): number {
    const { concurrency, programConcurrency } = this.#settings;
    if (group === PROGRAMS) return programConcurrency;
    return group === "" ? concurrency : Math.ceil(concurrency / 2);
  }
}
