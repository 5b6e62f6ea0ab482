import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { Roster } from "../async/linked-set.js";

/** The calls that are under way, so that closing can wait for them and then end them. */
export class InFlightCalls {
  readonly #calls = new Roster<CancelScope>();
  #whenEmpty: (() => void)[] = [];

  get isEmpty(): boolean {
    return this.#calls.isEmpty;
  }

  /** The function that comes back says that the call is over. */
  enter(call: CancelScope): () => void {
    const place = this.#calls.enter(call);
    return () => {
      this.#calls.leave(place);
      if (!this.#calls.isEmpty) return;
      for (const tell of this.#whenEmpty.splice(0)) tell();
    };
  }

  /** Until none is left, but no longer than `ms`. */
  drained(ms: number, clock: Clock): Promise<void> {
    if (this.#calls.isEmpty || ms === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = clock.after(ms, resolve);
      this.#whenEmpty.push(() => {
        stop();
        resolve();
      });
    });
  }

  cancelAll(reason: unknown): void {
    for (const call of this.#calls.all()) call.cancel(reason);
  }
}
