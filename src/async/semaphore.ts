import type { CancelScope } from "./cancel-scope.js";

/** So many at a time, first come first served. Who gives up waiting leaves the queue. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Gives the function that hands the slot on. */
  async enter(cancellation: CancelScope): Promise<() => void> {
    cancellation.throwIfCancelled();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(cancellation);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#handOn();
    };
  }

  #turn(cancellation: CancelScope): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        forget();
        resolve();
      };
      this.#waiting.push(wake);
      const forget = cancellation.onCancel((reason) => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1);
        reject(reason);
      });
    });
  }

  /** The slot stays taken while it passes to the next in line, so nobody can slip in between. */
  #handOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
