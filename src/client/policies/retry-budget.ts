import type { Clock } from "../../async/clock.js";

/** Retry budgets of each identity and of the whole server: one user cannot exhaust the budget of others. */
export class RetryBudgets {
  readonly #clock: Clock;
  /** How many budgets are kept. */
  readonly #maxIdentities: () => number;
  readonly #server: RetryBudget;
  readonly #byIdentity = new Map<string, RetryBudget>();

  constructor(clock: Clock, maxIdentities: () => number) {
    this.#clock = clock;
    this.#maxIdentities = maxIdentities;
    this.#server = new RetryBudget(clock);
  }

  get(identity: string): RetryBudget {
    const existing = this.#byIdentity.get(identity);
    if (existing !== undefined) return existing;
    const budget = new RetryBudget(this.#clock, this.#server);
    this.#byIdentity.set(identity, budget);
    const [oldest] = this.#byIdentity.keys();
    if (this.#byIdentity.size > this.#maxIdentities() && oldest !== undefined)
      this.#byIdentity.delete(oldest);
    return budget;
  }

  delete(identity: string): void {
    this.#byIdentity.delete(identity);
  }
}

/** One retry for every ten calls, and at least ten per minute. */
const TOKENS_PER_CALL = 0.1;
const TOKENS_PER_MINUTE = 10;
const MAX_TOKENS = 100;
const MINUTE_MS = 60_000;

/** A token bucket for retries. Calls and time add tokens. A retry takes a token of the parent, too. */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #parent: RetryBudget | undefined;
  #tokens = TOKENS_PER_MINUTE;
  #refilledAt: number;

  constructor(clock: Clock, parent?: RetryBudget) {
    this.#clock = clock;
    this.#parent = parent;
    this.#refilledAt = clock.now();
  }

  /** Called for each call. */
  deposit(): void {
    this.#parent?.deposit();
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + TOKENS_PER_CALL);
  }

  get isEmpty(): boolean {
    this.#refill();
    return this.#tokens < 1 || this.#parent?.isEmpty === true;
  }

  withdraw(): void {
    this.#parent?.withdraw();
    this.#refill();
    this.#tokens -= 1;
  }

  #refill(): void {
    const now = this.#clock.now();
    const refill = ((now - this.#refilledAt) / MINUTE_MS) * TOKENS_PER_MINUTE;
    this.#refilledAt = now;
    // Time alone adds at most one minute of tokens, so that idle periods do not allow a burst of retries.
    if (this.#tokens < TOKENS_PER_MINUTE) this.#tokens = Math.min(TOKENS_PER_MINUTE, this.#tokens + refill);
  }
}
