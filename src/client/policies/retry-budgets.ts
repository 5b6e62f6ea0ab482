import type { Clock } from "../../async/clock.js";
import { RetryTokens } from "./retry-budget.js";

/** Retry tokens of each user, under a cap for the whole server: one user's storm uses up no other's. */
export class RetryTokensByIdentity {
  readonly #clock: Clock;
  readonly #ofServer: RetryTokens;
  readonly #pairs = new Map<string, TokenPair>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ofServer = new RetryTokens(clock);
  }

  of(identity: string): TokenPair {
    const known = this.#pairs.get(identity);
    if (known !== undefined) return known;
    const pair = new TokenPair(this.#ofServer, new RetryTokens(this.#clock));
    this.#pairs.set(identity, pair);
    return pair;
  }

  forget(identity: string): void {
    this.#pairs.delete(identity);
  }
}

class TokenPair {
  readonly #ofServer: RetryTokens;
  readonly #own: RetryTokens;

  constructor(ofServer: RetryTokens, own: RetryTokens) {
    this.#ofServer = ofServer;
    this.#own = own;
  }

  get isEmpty(): boolean {
    return this.#ofServer.isEmpty || this.#own.isEmpty;
  }

  earn(): void {
    this.#ofServer.earn();
    this.#own.earn();
  }

  spend(): void {
    this.#ofServer.spend();
    this.#own.spend();
  }
}
