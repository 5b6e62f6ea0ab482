import type { Clock } from "../../async/clock.js";

/** A repetition for every ten calls, and at least ten a minute: a storm of failures stays a breeze. */
const PER_CALL = 0.1;
const PER_MINUTE = 10;
const MOST = 100;
const MINUTE_MS = 60_000;

/** How many repetitions are left. Calls and time bring more. */
export class RetryTokens {
  readonly #clock: Clock;
  #tokens = PER_MINUTE;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  /** A call was made. */
  earn(): void {
    this.#tokens = Math.min(MOST, this.#tokens + PER_CALL);
  }

  get isEmpty(): boolean {
    this.#refill();
    return this.#tokens < 1;
  }

  spend(): void {
    this.#refill();
    this.#tokens -= 1;
  }

  #refill(): void {
    const now = this.#clock.now();
    const brought = ((now - this.#at) / MINUTE_MS) * PER_MINUTE;
    this.#at = now;
    // Time alone brings no more than a minute's worth: a quiet night is no licence for a storm.
    if (this.#tokens < PER_MINUTE) this.#tokens = Math.min(PER_MINUTE, this.#tokens + brought);
  }
}
