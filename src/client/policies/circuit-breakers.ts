import type { Clock } from "../../async/clock.js";
import type { CircuitBreakerSettings } from "../../config/server-config.js";
import { type BreakerState, CircuitBreaker } from "./circuit-breaker.js";
import type { BreakerMetrics } from "../server-metrics.js";

export type CircuitBreakerHandle = Pick<CircuitBreaker, "stats" | "forceOpen" | "forceClose">;

interface BreakersParts {
  readonly clock: Clock;
  readonly settings: () => CircuitBreakerSettings | undefined;
  readonly onChange: (identity: string, state: BreakerState) => void;
}

/** The circuit breakers of one server, by identity: one user's bad credentials cut off no other. */
export class Breakers {
  readonly #parts: BreakersParts;
  readonly #breakers = new Map<string, CircuitBreaker>();

  constructor(parts: BreakersParts) {
    this.#parts = parts;
  }

  of(identity: string): CircuitBreaker | undefined {
    const known = this.#breakers.get(identity);
    if (known !== undefined) return known;
    const { clock, settings, onChange } = this.#parts;
    const options = settings();
    if (options === undefined) return undefined;
    const breaker = new CircuitBreaker(options, { clock, onChange: (state) => onChange(identity, state) });
    this.#breakers.set(identity, breaker);
    return breaker;
  }

  count(): BreakerMetrics {
    const counts = { closed: 0, open: 0, "half-open": 0 };
    for (const breaker of this.#breakers.values()) counts[breaker.stats().state] += 1;
    return Object.freeze(counts);
  }

  forget(identity: string): void {
    this.#breakers.delete(identity);
  }
}
