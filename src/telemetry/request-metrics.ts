import type { FailureKind } from "../errors/failure-kinds.js";
import { LatencyHistogram } from "./latency-histogram.js";

/** Call latencies in milliseconds. Quantiles have a relative error of at most three percent. */
export interface LatencyMetrics {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Call counters. They never decrease. */
export interface CallMetrics {
  /** Number of completed calls. */
  readonly calls: number;
  readonly successes: number;
  /** Number of failed calls by kind. */
  readonly failures: Readonly<Partial<Record<FailureKind, number>>>;
  /** Number of retries after a failure. */
  readonly retries: number;
  /** Latency of all calls that were sent, including failed ones; `undefined` if there are none. */
  readonly latencyMs: LatencyMetrics | undefined;
}

/** Metrics of one client since its creation. The top-level counters cover its tool calls. */
export interface ClientMetrics extends CallMetrics {
  /** Number of handshakes by outcome. */
  readonly handshakes: { readonly successes: number; readonly failures: number };
  /** Number of sessions that the server lost. */
  readonly sessionsLost: number;
  /** By tool name. Beyond the first 100 names, calls are counted together as `(others)`. */
  readonly tools: Readonly<Record<string, CallMetrics>>;
  /** Other requests, by method. */
  readonly methods: Readonly<Record<string, CallMetrics>>;
}

/** A completed request. The fields are read in place, without allocating on the hot path. */
interface EndedRequest {
  readonly method: string;
  readonly tool: string | undefined;
  readonly latencyMs: number;
  readonly attempts: number;
  readonly kind: FailureKind | undefined;
}

/** Limits memory: a server or a model can invent any number of names. */
const MAX_NAMES = 100;
/** Counts all names beyond the limit; not a valid tool name. */
const OVERFLOW_NAME = "(others)";

/** Collects the metrics of a client. A successful call costs a few additions. */
export class RequestMetrics {
  readonly #tools = new Map<string, CallCounter>();
  readonly #methods = new Map<string, CallCounter>();
  readonly #handshakes = { successes: 0, failures: 0 };
  #sessionsLost = 0;
  #lastLatencyMs: number | undefined;

  /** Latency of the last request that the server answered. */
  get lastLatencyMs(): number | undefined {
    return this.#lastLatencyMs;
  }

  onRequestEnded(request: EndedRequest): void {
    const { method, tool, kind, latencyMs } = request;
    if (kind === undefined || kind === "tool-error") this.#lastLatencyMs = latencyMs;
    if (tool === undefined) counterFor(this.#methods, method).count(request);
    else counterFor(this.#tools, tool).count(request);
  }

  onRequestRetried({ method, tool }: Pick<EndedRequest, "method" | "tool">): void {
    const counter = tool === undefined ? counterFor(this.#methods, method) : counterFor(this.#tools, tool);
    counter.retries += 1;
  }

  onHandshakeEnded(outcome: "successes" | "failures"): void {
    this.#handshakes[outcome] += 1;
  }

  onSessionLost(): void {
    this.#sessionsLost += 1;
  }

  snapshot(): ClientMetrics {
    return Object.freeze({
      ...mergeCounters(this.#tools.values()).snapshot(),
      handshakes: Object.freeze({ ...this.#handshakes }),
      sessionsLost: this.#sessionsLost,
      tools: toSnapshots(this.#tools),
      methods: toSnapshots(this.#methods),
    });
  }
}

class CallCounter {
  retries = 0;
  #calls = 0;
  #failed = 0;
  readonly #failures = new Map<FailureKind, number>();
  readonly #latency = new LatencyHistogram();

  count({ latencyMs, attempts, kind }: EndedRequest): void {
    this.#calls += 1;
    // A call that was never sent has no server latency.
    if (attempts > 0) this.#latency.record(latencyMs);
    if (kind === undefined) return;
    this.#failed += 1;
    this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1);
  }

  add(other: CallCounter): void {
    this.retries += other.retries;
    this.#calls += other.#calls;
    this.#failed += other.#failed;
    for (const [kind, count] of other.#failures)
      this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + count);
    this.#latency.add(other.#latency);
  }

  snapshot(): CallMetrics {
    const latency = this.#latency;
    return Object.freeze({
      calls: this.#calls,
      successes: this.#calls - this.#failed,
      failures: Object.freeze(Object.fromEntries(this.#failures)),
      retries: this.retries,
      latencyMs:
        latency.count === 0
          ? undefined
          : Object.freeze({
              p50: latency.quantileMs(0.5),
              p95: latency.quantileMs(0.95),
              p99: latency.quantileMs(0.99),
              max: latency.maxMs,
            }),
    });
  }
}

function mergeCounters(counters: Iterable<CallCounter>): CallCounter {
  const sum = new CallCounter();
  for (const counter of counters) sum.add(counter);
  return sum;
}

function counterFor(counters: Map<string, CallCounter>, name: string): CallCounter {
  const existing = counters.get(name);
  if (existing !== undefined) return existing;
  if (counters.size >= MAX_NAMES && name !== OVERFLOW_NAME) return counterFor(counters, OVERFLOW_NAME);
  const counter = new CallCounter();
  counters.set(name, counter);
  return counter;
}

function toSnapshots(counters: ReadonlyMap<string, CallCounter>): Readonly<Record<string, CallMetrics>> {
  return Object.freeze(
    Object.fromEntries([...counters].map(([name, counter]) => [name, counter.snapshot()] as const)),
  );
}
