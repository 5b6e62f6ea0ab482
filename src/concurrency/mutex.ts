import type { Cancellation } from "./cancellation.js";

/** One at a time, first come first served. Who gives up waiting leaves the queue. */
export class Mutex {
  #isHeld = false;
  readonly #waiting: (() => void)[] = [];

  /** Gives the function that hands the lock on. */
  async lock(cancellation: Cancellation): Promise<() => void> {
    cancellation.throwIfCancelled();
    if (this.#isHeld) await this.#turn(cancellation);
    this.#isHeld = true;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#handOn();
    };
  }

  #turn(cancellation: Cancellation): Promise<void> {
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

  /** The lock stays held while it passes to the next in line, so nobody can slip in between. */
  #handOn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isHeld = false;
    else next();
  }
}
