import type { Clock } from "../../async/clock.js";
import type { CircuitBreakerSettings } from "../../config/server-config.js";
import type { ServerLog } from "../../telemetry/logger.js";
import type { ServerProbe } from "./server-probe.js";

/**
 * The state of a circuit breaker.
 * - `closed`: all calls pass; consecutive failures are counted
 * - `open`: no calls pass for `recoveryTimeoutMs`, or until a probe has reached a server that could not be reached
 * - `half-open`: a few trial calls pass; enough successes close the circuit, one failure opens it again
 */
export type BreakerState = "closed" | "open" | "half-open";

export interface CircuitBreakerOptions {
  /** Consecutive failures that open the circuit. */
  readonly failureThreshold: number;
  readonly recoveryTimeoutMs: number;
  /** Concurrent trial calls while half-open. */
  readonly halfOpenMaxCalls: number;
  /** Successful trial calls that close the circuit. */
  readonly successThreshold: number;
}

/** A snapshot of a circuit breaker. */
export interface BreakerStats {
  /** Whether calls pass. */
  readonly state: BreakerState;
  /** Consecutive failures. */
  readonly failures: number;
  /** Attempts that were rejected since the client was created. */
  readonly blocked: number;
  /** Time until the next trial call may pass; 0 if it may pass now. */
  readonly recoversInMs: number;
  /** Successful trial calls since the circuit is half-open; otherwise 0. */
  readonly successes: number;
  /** Consecutive failures that open the circuit. */
  readonly failureThreshold: number;
  /** Successful trial calls that close the circuit. */
  readonly successThreshold: number;
  /** When the state last changed (Unix time in milliseconds); `undefined` if it never did. */
  readonly changedAt: number | undefined;
}

/**
 * - `unreachable`: nothing answered at the address
 * - `unavailable`: a proxy answered, or the server itself: only a handshake can distinguish them
 */
export type AttemptFailure = "failure" | "unreachable" | "unavailable";

/** `unknown`: the outcome does not indicate the health of the server. */
type AttemptResult = "success" | AttemptFailure | "unknown";

/** Failures count at most once in this time, regardless of how many callers and retries meet them. */
const FAILURE_INTERVAL_MS = 250;

/** Permission for one attempt. Ended by the first call of `succeed`, `fail` or `release`; later calls have no effect. */
export class CircuitPermit {
  readonly #record: (permit: CircuitPermit, result: AttemptResult) => void;
  #isEnded = false;

  constructor(
    /** The version of the state when the permit was issued. */
    readonly stateVersion: number,
    /** The number of the permit, in order of issue. */
    readonly sequence: number,
    record: (permit: CircuitPermit, result: AttemptResult) => void,
  ) {
    this.#record = record;
  }

  succeed(): void {
    this.#end("success");
  }

  fail(failure: AttemptFailure = "failure"): void {
    this.#end(failure);
  }

  /** The outcome does not indicate the health of the server. */
  release(): void {
    this.#end("unknown");
  }

  #end(result: AttemptResult): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#record(this, result);
  }
}

interface CircuitBreakerDependencies {
  readonly clock: Clock;
  readonly identity: string;
  /** Asks an unreachable server in the background whether it is back. */
  readonly probe: ServerProbe | undefined;
  readonly onChange: (state: BreakerState) => void;
}

/** Stops sending attempts after consecutive failures, and probes the server after a recovery timeout. */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #deps: CircuitBreakerDependencies;
  #state: BreakerState = "closed";
  #failures = 0;
  #successes = 0;
  #trialCalls = 0;
  #blocked = 0;
  #openUntil = 0;
  #changedAt: number | undefined;
  /** The circuit is open until a probe has reached the server. */
  #closesOnProbe = false;
  /** Whether one of the consecutive failures may mean that nothing runs at the address. */
  #mayBeDown = false;
  /**
   * A probe closed the circuit, and no call has succeeded since: a successful handshake does not prove that calls work.
   */
  #isUnproven = false;
  #lastSequence = 0;
  /** Permits up to this number were issued before the last counted failure. */
  #lastCountedSequence = 0;
  #lastCountedAt = Number.NEGATIVE_INFINITY;
  /** Incremented on each state change: outcomes of permits from an earlier state are ignored. */
  #stateVersion = 0;

  constructor(options: CircuitBreakerOptions, deps: CircuitBreakerDependencies) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Returns a permit, or `undefined` if no call may pass now. */
  tryAcquire(): CircuitPermit | undefined {
    if (this.#state === "open" && !this.isAwaitingProbe) {
      // Probing ended with `close()`, and the client is used again.
      if (this.#closesOnProbe) this.#change("closed");
      else if (this.#recoversInMs() === 0) this.#change("half-open");
    }
    const isFull = this.#state === "half-open" && this.#trialCalls >= this.#options.halfOpenMaxCalls;
    if (this.#state === "open" || isFull) {
      this.#blocked += 1;
      return undefined;
    }
    return this.#createPermit();
  }

  /** Returns a snapshot of the breaker. */
  stats(): BreakerStats {
    const { failureThreshold, successThreshold } = this.#options;
    return {
      state: this.#state,
      failures: this.#failures,
      blocked: this.#blocked,
      recoversInMs: this.#recoversInMs(),
      successes: this.#successes,
      failureThreshold,
      successThreshold,
      changedAt: this.#changedAt,
    };
  }

  /** The circuit is open because nothing answers at the address, and a probe will close it. */
  get isAwaitingProbe(): boolean {
    return this.#state === "open" && this.#closesOnProbe && this.#deps.probe?.isActive === true;
  }

  /** Opens the circuit for `recoveryTimeoutMs`. */
  forceOpen(): void {
    this.#mayBeDown = false;
    this.#open("failure");
  }

  /** The server has completed a handshake. */
  onReachable(): void {
    if (this.#state !== "open" || !this.#closesOnProbe) return;
    this.#isUnproven = true;
    this.#change("closed");
  }

  /** Closes the circuit and resets the failures. */
  forceClose(): void {
    if (this.#state !== "closed") this.#change("closed");
    this.#failures = 0;
    this.#mayBeDown = false;
  }

  #createPermit(): CircuitPermit {
    this.#lastSequence += 1;
    if (this.#state === "half-open") this.#trialCalls += 1;
    return new CircuitPermit(this.#stateVersion, this.#lastSequence, this.#record);
  }

  readonly #record = ({ stateVersion, sequence }: CircuitPermit, result: AttemptResult): void => {
    if (stateVersion !== this.#stateVersion) return;
    if (this.#state === "half-open") this.#trialCalls -= 1;
    if (result === "success") this.#onSuccess();
    else if (result !== "unknown") this.#onFailure(sequence, result);
  };

  #onSuccess(): void {
    this.#failures = 0;
    this.#mayBeDown = false;
    this.#isUnproven = false;
    if (this.#state !== "half-open") return;
    this.#successes += 1;
    if (this.#successes >= this.#options.successThreshold) this.#change("closed");
  }

  /**
   * Concurrent attempts that fail together, for example when a server restarts during a hundred calls, count as one
   * failure, and so do all failures within a short time.
   */
  #onFailure(sequence: number, failure: AttemptFailure): void {
    const isTrial = this.#state === "half-open";
    const { failureThreshold, recoveryTimeoutMs } = this.#options;
    const now = this.#deps.clock.now();
    const isRecent = now - this.#lastCountedAt < Math.min(FAILURE_INTERVAL_MS, recoveryTimeoutMs);
    if (!isTrial && (sequence <= this.#lastCountedSequence || isRecent)) return;
    this.#lastCountedSequence = this.#lastSequence;
    this.#lastCountedAt = now;
    this.#failures += 1;
    this.#mayBeDown ||= failure !== "failure";
    if (isTrial || this.#failures >= failureThreshold) this.#open(failure);
  }

  #open(failure: AttemptFailure): void {
    this.#openUntil = this.#deps.clock.now() + this.#options.recoveryTimeoutMs;
    const { identity, probe } = this.#deps;
    const mayBeDown = failure === "unreachable" || (this.#mayBeDown && !this.#isUnproven);
    this.#closesOnProbe = mayBeDown && probe !== undefined;
    this.#change("open");
    if (this.#closesOnProbe) probe?.start(identity, this.#options.recoveryTimeoutMs);
  }

  #change(state: BreakerState): void {
    this.#state = state;
    this.#changedAt = Date.now();
    this.#stateVersion += 1;
    this.#trialCalls = 0;
    this.#successes = 0;
    if (state === "closed") {
      this.#failures = 0;
      this.#mayBeDown = false;
    }
    this.#deps.onChange(state);
  }

  #recoversInMs(): number {
    if (this.#state !== "open") return 0;
    if (this.isAwaitingProbe) return this.#deps.probe?.dueInMs() ?? 0;
    return Math.max(0, this.#openUntil - this.#deps.clock.now());
  }
}

/** The number of circuit breakers in each state: a server has one per identity. */
export type BreakerMetrics = Readonly<Record<BreakerState, number>>;

/** Reads and forces a circuit breaker. */
export type CircuitBreakerHandle = Pick<CircuitBreaker, "stats" | "forceOpen" | "forceClose">;

interface CircuitBreakersDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly probe: ServerProbe | undefined;
  /** How many breakers are kept. */
  readonly maxIdentities: () => number;
  readonly settings: () => CircuitBreakerSettings | undefined;
  readonly onChange: (identity: string, state: BreakerState) => void;
}

/** The circuit breakers of one server, by identity: failures of one user do not affect others. */
export class CircuitBreakers {
  readonly #deps: CircuitBreakersDependencies;
  readonly #byIdentity = new Map<string, CircuitBreaker>();
  /** When the first circuit opened that is still open. */
  #openSince: number | undefined;

  constructor(deps: CircuitBreakersDependencies) {
    this.#deps = deps;
  }

  get(identity: string): CircuitBreaker | undefined {
    const existing = this.#byIdentity.get(identity);
    if (existing !== undefined) return existing;
    const { clock, probe, settings, onChange, maxIdentities } = this.#deps;
    const options = settings();
    if (options === undefined) return undefined;
    const breaker = new CircuitBreaker(options, {
      clock,
      identity,
      probe,
      onChange: (state) => {
        onChange(identity, state);
        this.#logChange(state);
      },
    });
    this.#byIdentity.set(identity, breaker);
    if (this.#byIdentity.size > maxIdentities()) this.#evictOne(identity);
    return breaker;
  }

  /** The server has completed a handshake. */
  onReachable(): void {
    for (const breaker of this.#byIdentity.values()) breaker.onReachable();
  }

  /** Drops the oldest breaker without failures; if all have failures, the oldest. */
  #evictOne(added: string): void {
    const others = [...this.#byIdentity.keys()].filter((identity) => identity !== added);
    const idle = others.find((identity) => this.#byIdentity.get(identity)?.stats().failures === 0);
    const evicted = idle ?? others[0];
    if (evicted !== undefined) this.delete(evicted);
  }

  /** Logs an outage once, and its end, however many identities it has and however often a trial call fails. */
  #logChange(state: BreakerState): void {
    const { server, clock, log } = this.#deps;
    const subject = `The circuit breaker of server "${server}"`;
    if (state === "open" && this.#openSince === undefined) {
      this.#openSince = clock.now();
      log.warn(`${subject} is open: calls are rejected until the server answers again.`);
    }
    const isOutageOver = state === "closed" && this.countByState().closed === this.#byIdentity.size;
    if (!isOutageOver || this.#openSince === undefined) return;
    log.info(`${subject} is closed again after ${((clock.now() - this.#openSince) / 1000).toFixed(1)} s.`);
    this.#openSince = undefined;
  }

  countByState(): BreakerMetrics {
    const counts = { closed: 0, open: 0, "half-open": 0 };
    for (const breaker of this.#byIdentity.values()) counts[breaker.stats().state] += 1;
    return Object.freeze(counts);
  }

  delete(identity: string): void {
    this.#byIdentity.delete(identity);
    this.#logChange("closed");
  }
}
