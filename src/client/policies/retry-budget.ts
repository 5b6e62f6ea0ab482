import type { Clock } from "../../async/clock.js";

/** Retry budgets of each identity and of the whole server: one user cannot exhaust the budget of others. */
export class RetryBudgets {
  readonly #clock: Clock;
  /** How many budgets are kept. */
  readonly #maxIdentities: () => number;
  readonly #server: RetryBudget;
  readonly #byIdentity = new Map<string, CombinedBudget>();

  constructor(clock: Clock, maxIdentities: () => number) {
    this.#clock = clock;
    this.#maxIdentities = maxIdentities;
    this.#server = new RetryBudget(clock);
  }

  get(identity: string): CombinedBudget {
    const existing = this.#byIdentity.get(identity);
    if (existing !== undefined) return existing;
    const budget = new CombinedBudget(this.#server, new RetryBudget(this.#clock));
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

/** Requires a token of both the server and the identity. */
class CombinedBudget {
  readonly #server: RetryBudget;
  readonly #identity: RetryBudget;

  constructor(server: RetryBudget, identity: RetryBudget) {
    this.#server = server;
    this.#identity = identity;
  }

  get isEmpty(): boolean {
    return this.#server.isEmpty || this.#identity.isEmpty;
  }

  deposit(): void {
    this.#server.deposit();
    this.#identity.deposit();
  }

  withdraw(): void {
    this.#server.withdraw();
    this.#identity.withdraw();
  }
}

/** One retry for every ten calls, and at least ten per minute. */
const TOKENS_PER_CALL = 0.1;
const TOKENS_PER_MINUTE = 10;
const MAX_TOKENS = 100;
const MINUTE_MS = 60_000;

/** A token bucket for retries. Calls and time add tokens. */
export class RetryBudget {
  readonly #clock: Clock;
  #tokens = TOKENS_PER_MINUTE;
  #refilledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refilledAt = clock.now();
  }

  /** Called for each call. */
  deposit(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + TOKENS_PER_CALL);
  }

  get isEmpty(): boolean {
    this.#refill();
    return this.#tokens < 1;
  }

  withdraw(): void {
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
