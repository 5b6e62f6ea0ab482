import type { Clock } from "../../async/clock.js";

/**
 * - `closed`: everything passes; failures in a row are counted
 * - `open`: nothing passes until `recoveryTimeoutMs` have gone by
 * - `half-open`: a few probes pass; enough successes close it, one failure opens it again
 */
export type BreakerState = "closed" | "open" | "half-open";

export interface CircuitBreakerOptions {
  /** Failures in a row that open it. */
  readonly failureThreshold: number;
  readonly recoveryTimeoutMs: number;
  /** Probes at the same time while half-open. */
  readonly halfOpenMaxCalls: number;
  /** Successful probes that close it. */
  readonly successThreshold: number;
}

export interface BreakerStats {
  readonly state: BreakerState;
  /** Failures in a row. */
  readonly failures: number;
  /** Attempts that were not let through since the start. */
  readonly blocked: number;
  /** Until the next probe may pass; 0 when it may. */
  readonly recoversInMs: number;
}

/** How an attempt ended; `unknown`: in a way that says nothing about the server. */
type Verdict = "success" | "failure" | "unknown";

/** One attempt that was let through. Exactly one of the three ends it; later ones change nothing. */
export class Permit {
  readonly #judge: (permit: Permit, verdict: Verdict) => void;
  #isEnded = false;

  constructor(
    /** How often the state had changed when it was given. */
    readonly changes: number,
    /** Its place among all that were given. */
    readonly order: number,
    judge: (permit: Permit, verdict: Verdict) => void,
  ) {
    this.#judge = judge;
  }

  succeed(): void {
    this.#end("success");
  }

  fail(): void {
    this.#end("failure");
  }

  /** It ended in a way that says nothing about the server. */
  release(): void {
    this.#end("unknown");
  }

  #end(verdict: Verdict): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#judge(this, verdict);
  }
}

interface CircuitBreakerParts {
  readonly clock: Clock;
  readonly onChange: (state: BreakerState) => void;
}

/** Leaves a server alone that fails again and again, and tries it again by itself. */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #parts: CircuitBreakerParts;
  #state: BreakerState = "closed";
  #failures = 0;
  #successes = 0;
  #probing = 0;
  #blocked = 0;
  #opensUntil = 0;
  #entered = 0;
  /** Who entered before this had begun when the last failure was counted. */
  #countedUpTo = 0;
  /** Counts the changes of state: what was let through in an earlier state says nothing in this one. */
  #changes = 0;

  constructor(options: CircuitBreakerOptions, parts: CircuitBreakerParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** A permit, or `undefined` when nothing passes now. */
  enter(): Permit | undefined {
    if (this.#state === "open" && this.#recoversInMs() === 0) this.#change("half-open");
    const isFull = this.#state === "half-open" && this.#probing >= this.#options.halfOpenMaxCalls;
    if (this.#state === "open" || isFull) {
      this.#blocked += 1;
      return undefined;
    }
    return this.#permit();
  }

  stats(): BreakerStats {
    return {
      state: this.#state,
      failures: this.#failures,
      blocked: this.#blocked,
      recoversInMs: this.#recoversInMs(),
    };
  }

  /** Lets nothing through for `recoveryTimeoutMs`. */
  forceOpen(): void {
    this.#open();
  }

  forceClose(): void {
    if (this.#state !== "closed") this.#change("closed");
    this.#failures = 0;
  }

  #permit(): Permit {
    this.#entered += 1;
    if (this.#state === "half-open") this.#probing += 1;
    return new Permit(this.#changes, this.#entered, this.#judge);
  }

  readonly #judge = ({ changes, order }: Permit, verdict: Verdict): void => {
    if (changes !== this.#changes) return;
    if (this.#state === "half-open") this.#probing -= 1;
    if (verdict === "success") this.#onSuccess();
    if (verdict === "failure") this.#onFailure(order);
  };

  #onSuccess(): void {
    this.#failures = 0;
    if (this.#state !== "half-open") return;
    this.#successes += 1;
    if (this.#successes >= this.#options.successThreshold) this.#change("closed");
  }

  /**
   * In a row means one after the other: attempts that were under way together and broke together, as
   * when a server restarts under a hundred calls, are one failure.
   */
  #onFailure(order: number): void {
    if (order <= this.#countedUpTo) return;
    this.#countedUpTo = this.#entered;
    this.#failures += 1;
    if (this.#state === "half-open" || this.#failures >= this.#options.failureThreshold) this.#open();
  }

  #open(): void {
    this.#opensUntil = this.#parts.clock.now() + this.#options.recoveryTimeoutMs;
    this.#change("open");
  }

  #change(state: BreakerState): void {
    this.#state = state;
    this.#changes += 1;
    this.#probing = 0;
    this.#successes = 0;
    if (state === "closed") this.#failures = 0;
    this.#parts.onChange(state);
  }

  #recoversInMs(): number {
    return this.#state === "open" ? Math.max(0, this.#opensUntil - this.#parts.clock.now()) : 0;
  }
}
