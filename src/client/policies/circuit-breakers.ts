import type { Clock } from "../../async/clock.js";
import type { CircuitBreakerSettings } from "../../config/server-config.js";
import { type BreakerState, CircuitBreaker } from "./circuit-breaker.js";

/** The number of circuit breakers in each state: a server has one per identity. */
export type BreakerMetrics = Readonly<Record<BreakerState, number>>;

/** Reads and forces a circuit breaker. */
export type CircuitBreakerHandle = Pick<CircuitBreaker, "stats" | "forceOpen" | "forceClose">;

interface CircuitBreakersDependencies {
  readonly clock: Clock;
  readonly settings: () => CircuitBreakerSettings | undefined;
  readonly onChange: (identity: string, state: BreakerState) => void;
}

/** The circuit breakers of one server, by identity: failures of one user do not affect others. */
export class CircuitBreakers {
  readonly #deps: CircuitBreakersDependencies;
  readonly #byIdentity = new Map<string, CircuitBreaker>();

  constructor(deps: CircuitBreakersDependencies) {
    this.#deps = deps;
  }

  get(identity: string): CircuitBreaker | undefined {
    const existing = this.#byIdentity.get(identity);
    if (existing !== undefined) return existing;
    const { clock, settings, onChange } = this.#deps;
    const options = settings();
    if (options === undefined) return undefined;
    const breaker = new CircuitBreaker(options, { clock, onChange: (state) => onChange(identity, state) });
    this.#byIdentity.set(identity, breaker);
    return breaker;
  }

  countByState(): BreakerMetrics {
    const counts = { closed: 0, open: 0, "half-open": 0 };
    for (const breaker of this.#byIdentity.values()) counts[breaker.stats().state] += 1;
    return Object.freeze(counts);
  }

  delete(identity: string): void {
    this.#byIdentity.delete(identity);
  }
}
