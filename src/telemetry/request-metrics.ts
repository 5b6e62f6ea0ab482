import type { FailureKind } from "../errors/failure-kinds.js";

/** Call latencies in milliseconds. Quantiles have a relative error of at most three percent. */
export interface LatencyMetrics {
  /** Half of the calls took at most this long. */
  readonly p50: number;
  /** 95 % of the calls took at most this long. */
  readonly p95: number;
  /** 99 % of the calls took at most this long. */
  readonly p99: number;
  /** The longest call, without a relative error. */
  readonly max: number;
  /** The average, without a relative error. */
  readonly mean: number;
  /** The sum of all, without a relative error. */
  readonly total: number;
}

/** Call counters. They never decrease. */
export interface CallMetrics {
  /** Number of completed calls. */
  readonly calls: number;
  /** Number of completed calls without a failure; a result with `isError` is a failure of kind `tool-error`. */
  readonly successes: number;
  /** The share of completed calls without a failure, from 0 to 1; `undefined` if there are none. */
  readonly successRate: number | undefined;
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
  /** By tool name. Beyond the first 100 names, and 1,024 characters of a name, calls are counted together as `(others)`. */
  readonly tools: Readonly<Record<string, CallMetrics>>;
  /** Other requests, by method. */
  readonly methods: Readonly<Record<string, CallMetrics>>;
}

/** The sum of the metrics of several clients. */
type TotalMetrics = Omit<ClientMetrics, "tools" | "methods">;

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
const MAX_NAME_LENGTH = 1_024;
/** Counts all names beyond the limits; not a valid tool name. */
const OVERFLOW_NAME = "(others)";

/** Collects the metrics of a client. A successful call costs a few additions. */
export class RequestMetrics {
  readonly #tools = new Map<string, CallCounter>();
  readonly #methods = new Map<string, CallCounter>();
  readonly #handshakes = { successes: 0, failures: 0 };
  #sessionsLost = 0;
  /** Latency of the last request that the server answered. */
  lastLatencyMs: number | undefined;

  onRequestEnded(request: EndedRequest): void {
    const { method, tool, kind, latencyMs } = request;
    if (kind === undefined || kind === "tool-error") this.lastLatencyMs = latencyMs;
    this.#counterOf(method, tool).count(request);
  }

  onRequestRetried({ method, tool }: Pick<EndedRequest, "method" | "tool">): void {
    this.#counterOf(method, tool).retries += 1;
  }

  onHandshakeEnded(outcome: "successes" | "failures"): void {
    this.#handshakes[outcome] += 1;
  }

  onSessionLost(): void {
    this.#sessionsLost += 1;
  }

  snapshot(): ClientMetrics {
    return Object.freeze({
      ...RequestMetrics.sum([this]),
      tools: toSnapshots(this.#tools),
      methods: toSnapshots(this.#methods),
    });
  }

  /** Sums up clients, with quantiles over the calls of all. */
  static sum(all: readonly RequestMetrics[]): TotalMetrics {
    const calls = new CallCounter();
    const handshakes = { successes: 0, failures: 0 };
    let sessionsLost = 0;
    for (const metrics of all) {
      for (const counter of metrics.#tools.values()) calls.add(counter);
      handshakes.successes += metrics.#handshakes.successes;
      handshakes.failures += metrics.#handshakes.failures;
      sessionsLost += metrics.#sessionsLost;
    }
    return Object.freeze({ ...calls.snapshot(), handshakes: Object.freeze(handshakes), sessionsLost });
  }

  #counterOf(method: string, tool: string | undefined): CallCounter {
    return tool === undefined ? counterFor(this.#methods, method) : counterFor(this.#tools, tool);
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
    const successes = this.#calls - this.#failed;
    return Object.freeze({
      calls: this.#calls,
      successes,
      successRate: this.#calls === 0 ? undefined : successes / this.#calls,
      failures: Object.freeze(Object.fromEntries(this.#failures)),
      retries: this.retries,
      latencyMs: this.#latency.snapshot(),
    });
  }
}

function counterFor(counters: Map<string, CallCounter>, name: string): CallCounter {
  const existing = counters.get(name);
  if (existing !== undefined) return existing;
  const isExcess = counters.size >= MAX_NAMES || name.length > MAX_NAME_LENGTH;
  if (isExcess && name !== OVERFLOW_NAME) return counterFor(counters, OVERFLOW_NAME);
  const counter = new CallCounter();
  counters.set(name, counter);
  return counter;
}

function toSnapshots(counters: ReadonlyMap<string, CallCounter>): Readonly<Record<string, CallMetrics>> {
  return Object.freeze(
    Object.fromEntries([...counters].map(([name, counter]) => [name, counter.snapshot()] as const)),
  );
}

/** Each power of two is divided into this many buckets of equal width. */
const SUB_BUCKET_BITS = 4;
const SUB_BUCKETS = 2 ** SUB_BUCKET_BITS;
/** The resolution is one microsecond; times above 71 minutes (2^32 µs) are clamped. */
const MAX_MICROS = 2 ** 32 - 1;
const BUCKET_COUNT = SUB_BUCKETS * (32 - SUB_BUCKET_BITS + 1);

/**
 * A log-linear histogram of latencies in constant memory (two kilobytes). Bucket widths grow with the value, so
 * the relative error is at most three percent for short and long times.
 */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKET_COUNT);
  #count = 0;
  #total = 0;
  #min = MAX_MICROS;
  #max = 0;

  get maxMs(): number {
    return this.#max / 1_000;
  }

  record(ms: number): void {
    const micros = Math.min(Math.max(0, Math.round(ms * 1_000)), MAX_MICROS);
    const index = bucketIndex(micros);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count += 1;
    this.#total += micros;
    if (micros < this.#min) this.#min = micros;
    if (micros > this.#max) this.#max = micros;
  }

  /** Adds all values of another histogram. */
  add(other: LatencyHistogram): void {
    for (const [index, count] of other.#counts.entries())
      this.#counts[index] = (this.#counts[index] ?? 0) + count;
    this.#count += other.#count;
    this.#total += other.#total;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  /** Returns `undefined` if nothing was recorded. */
  snapshot(): LatencyMetrics | undefined {
    if (this.#count === 0) return undefined;
    const total = this.#total / 1_000;
    return Object.freeze({
      p50: this.quantileMs(0.5),
      p95: this.quantileMs(0.95),
      p99: this.quantileMs(0.99),
      max: this.maxMs,
      mean: total / this.#count,
      total,
    });
  }

  /** Returns a quantile in milliseconds, such as 0.95 for p95; 0 if nothing was recorded. */
  quantileMs(quantile: number): number {
    const rank = Math.max(1, Math.ceil(quantile * this.#count));
    let seen = 0;
    for (let index = 0; index < BUCKET_COUNT; index += 1) {
      seen += this.#counts[index] ?? 0;
      if (seen >= rank) return Math.min(Math.max(bucketMidpoint(index), this.#min), this.#max) / 1_000;
    }
    return 0;
  }
}

/** Values below `SUB_BUCKETS` have one bucket each; above, every power of two has `SUB_BUCKETS`. */
function bucketIndex(micros: number): number {
  if (micros < SUB_BUCKETS) return micros;
  const shift = 31 - Math.clz32(micros) - SUB_BUCKET_BITS;
  return SUB_BUCKETS * shift + (micros >>> shift);
}

function bucketMidpoint(index: number): number {
  if (index < 2 * SUB_BUCKETS) return index;
  const shift = Math.floor(index / SUB_BUCKETS) - 1;
  const low = (index - SUB_BUCKETS * shift) * 2 ** shift;
  return low + (2 ** shift - 1) / 2;
}
