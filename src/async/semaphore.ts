import type { CancelScope } from "./cancel-scope.js";

/** Limits concurrency, first in, first out. A cancelled waiter leaves the queue. */
export class Semaphore {
  readonly #slots: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#slots = slots;
    this.#free = slots;
  }

  /** No slot is used. */
  get isIdle(): boolean {
    return this.#free === this.#slots;
  }

  /** Waits for a slot. Returns the function that releases it. */
  async acquire(cancellation: CancelScope): Promise<() => void> {
    cancellation.throwIfCancelled();
    if (this.#free > 0) this.#free -= 1;
    else await this.#waitForSlot(cancellation);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release();
    };
  }

  #waitForSlot(cancellation: CancelScope): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        unsubscribe();
        resolve();
      };
      this.#waiting.push(wake);
      const unsubscribe = cancellation.onCancel((reason) => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        reject(reason);
      });
    });
  }

  /** Passes the slot directly to the next waiter, so that no other caller can take it in between. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/**
 * Maps items like `Promise.all`, with at most `limit` (at least one) running at a time. Results keep the order
 * of the items. After a failure no further item is started.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  const queue = items.entries();
  let hasFailed = false;
  const worker = async () => {
    for (const [index, item] of queue) {
      if (hasFailed) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workerCount = Math.max(1, Math.min(Math.floor(limit) || 1, items.length));
  await Promise.all(Array.from({ length: workerCount }, worker));
  return results;
}
