import type { Clock } from "../concurrency/clock.js";
import { RetryTokens } from "../policies/retry-tokens.js";

type TokenPair = Pick<RetryTokens, "earn" | "spend" | "isEmpty">;

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
    const pair = pairOf(this.#ofServer, new RetryTokens(this.#clock));
    this.#pairs.set(identity, pair);
    return pair;
  }

  forget(identity: string): void {
    this.#pairs.delete(identity);
  }
}

function pairOf(server: RetryTokens, own: RetryTokens): TokenPair {
  const both = [server, own];
  return {
    get isEmpty() {
      return both.some((tokens) => tokens.isEmpty);
    },
    earn: () => {
      for (const tokens of both) tokens.earn();
    },
    spend: () => {
      for (const tokens of both) tokens.spend();
    },
  };
}
