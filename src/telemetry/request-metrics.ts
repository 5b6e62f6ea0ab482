import type { FailureKind } from "../errors/failure-kinds.js";
import { LatencyHistogram } from "./latency-histogram.js";

/** How long calls took, in milliseconds; p50, p95 and p99 to three per cent. */
export interface LatencyMetrics {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** What became of calls. Numbers only grow. */
export interface CallMetrics {
  /** Those that have ended. */
  readonly calls: number;
  readonly successes: number;
  readonly failures: Readonly<Partial<Record<FailureKind, number>>>;
  /** How often one was sent again after a failure. */
  readonly retries: number;
  /** Of all that were sent, whatever came of them; `undefined` when there are none. */
  readonly latencyMs: LatencyMetrics | undefined;
}

/** What became of the tool calls of one client since it was made, and of what surrounds them. */
export interface ClientMetrics extends CallMetrics {
  readonly handshakes: { readonly successes: number; readonly failures: number };
  /** How often the server forgot a session. */
  readonly sessionsLost: number;
  /** By the server's own names; of a server with very many, those beyond the first are counted together. */
  readonly tools: Readonly<Record<string, CallMetrics>>;
  /** Requests that are no tool calls, by method. */
  readonly methods: Readonly<Record<string, CallMetrics>>;
}

/** A request that has ended. Read as it stands: what counts it makes nothing. */
interface EndedRequest {
  readonly method: string;
  readonly tool: string | undefined;
  readonly trace: {
    readonly latencyMs: number;
    readonly attempts: number;
    readonly kind: FailureKind | undefined;
  };
}

/** How many tools or methods are told apart: a server, or a model, can make up names for ever. */
const MOST_NAMES = 100;
/** What the others are counted under; no tool is called so. */
const OTHERS = "(others)";

/** Counts what a client does. What a healthy call costs here is a few additions. */
export class RequestMetrics {
  readonly #tools = new Map<string, Tally>();
  readonly #methods = new Map<string, Tally>();
  readonly #handshakes = { successes: 0, failures: 0 };
  #sessionsLost = 0;
  #lastLatencyMs: number | undefined;

  /** How long the server took for the last request that it answered. */
  get lastLatencyMs(): number | undefined {
    return this.#lastLatencyMs;
  }

  requestEnded(request: EndedRequest): void {
    const { method, tool, trace } = request;
    if (trace.kind === undefined || trace.kind === "tool-error") this.#lastLatencyMs = trace.latencyMs;
    if (tool === undefined) tallyOf(this.#methods, method).count(request);
    else tallyOf(this.#tools, tool).count(request);
  }

  requestRetried({ method, tool }: Pick<EndedRequest, "method" | "tool">): void {
    const tally = tool === undefined ? tallyOf(this.#methods, method) : tallyOf(this.#tools, tool);
    tally.retries += 1;
  }

  handshakeEnded(outcome: "successes" | "failures"): void {
    this.#handshakes[outcome] += 1;
  }

  sessionLost(): void {
    this.#sessionsLost += 1;
  }

  snapshot(): ClientMetrics {
    return Object.freeze({
      ...sumOf(this.#tools.values()).snapshot(),
      handshakes: Object.freeze({ ...this.#handshakes }),
      sessionsLost: this.#sessionsLost,
      tools: snapshots(this.#tools),
      methods: snapshots(this.#methods),
    });
  }
}

class Tally {
  retries = 0;
  #calls = 0;
  #failed = 0;
  readonly #failures = new Map<FailureKind, number>();
  readonly #latency = new LatencyHistogram();

  count({ trace }: EndedRequest): void {
    const { latencyMs, attempts, kind } = trace;
    this.#calls += 1;
    // What was never sent says nothing about how long the server takes.
    if (attempts > 0) this.#latency.record(latencyMs);
    if (kind === undefined) return;
    this.#failed += 1;
    this.#failures.set(kind, (this.#failures.get(kind) ?? 0) + 1);
  }

  add(other: Tally): void {
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

function sumOf(tallies: Iterable<Tally>): Tally {
  const sum = new Tally();
  for (const tally of tallies) sum.add(tally);
  return sum;
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const known = tallies.get(name);
  if (known !== undefined) return known;
  if (tallies.size >= MOST_NAMES && name !== OTHERS) return tallyOf(tallies, OTHERS);
  const tally = new Tally();
  tallies.set(name, tally);
  return tally;
}

function snapshots(tallies: ReadonlyMap<string, Tally>): Readonly<Record<string, CallMetrics>> {
  return Object.freeze(
    Object.fromEntries([...tallies].map(([name, tally]) => [name, tally.snapshot()] as const)),
  );
}
