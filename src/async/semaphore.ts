import type { CancelScope } from "./cancel-scope.js";

/** Limits concurrency, first in, first out. A cancelled waiter leaves the queue. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
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
