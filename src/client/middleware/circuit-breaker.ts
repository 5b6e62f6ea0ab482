import { settleWithin } from "../../async/clock.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { AttemptFailure, CircuitBreaker, CircuitPermit } from "../policies/circuit-breaker.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { Handler, Middleware, RequestContext } from "../request-context.js";
import { RequestDeadline } from "./attempt-deadline.js";
import type { PipelineDependencies } from "./pipeline-dependencies.js";

type CircuitBreakerDependencies = Pick<PipelineDependencies, "server" | "clock" | "breakers" | "probe">;

/** A request waits for probes for at most this time. */
const MAX_PROBE_WAIT_MS = 2_000;

/** Failures after which a probe asks whether the server is back. */
const PROBED_FAILURES: Partial<Record<FailureKind, AttemptFailure>> = {
  "not-sent": "unreachable",
  "connection-lost": "unreachable",
  unavailable: "unavailable",
};

/** Rejects attempts while the circuit is open, and records the outcome of the others. */
export function circuitBreaker(deps: CircuitBreakerDependencies): Middleware {
  return (next) => (request) => {
    const breaker = deps.breakers.get(request.identity);
    if (breaker === undefined) return next(request);
    const permit = breaker.tryAcquire();
    if (permit !== undefined) return recordOutcome(request, next(request), permit);
    return sendAfterProbe(request, next, breaker, deps);
  };
}

function recordOutcome(
  request: RequestContext,
  response: Promise<unknown>,
  permit: CircuitPermit,
): Promise<unknown> {
  return response.then(
    (result) => {
      permit.succeed();
      return result;
    },
    (error: unknown) => {
      const isFailure = error instanceof McpRuntimeError && FAILURE_POLICIES[error.kind].countsForBreaker;
      if (isFailure) permit.fail(request.hasConnectTimedOut ? "unreachable" : PROBED_FAILURES[error.kind]);
      else permit.release();
      throw error;
    },
  );
}

async function sendAfterProbe(
  request: RequestContext,
  next: Handler,
  breaker: CircuitBreaker,
  deps: CircuitBreakerDependencies,
): Promise<unknown> {
  const permit = await waitForProbe(request, breaker, deps);
  return recordOutcome(request, next(request), permit);
}

/** A server that restarts is back soon: the request waits for the next probes within its own deadline. */
async function waitForProbe(
  request: RequestContext,
  breaker: CircuitBreaker,
  { server, clock, probe }: CircuitBreakerDependencies,
): Promise<CircuitPermit> {
  const deadline = new RequestDeadline(request, { server, clock, limit: "requestMs" });
  const waitUntil = clock.now() + MAX_PROBE_WAIT_MS;
  let permit: CircuitPermit | undefined;
  let remainingMs = MAX_PROBE_WAIT_MS;
  deadline.start();
  try {
    while (permit === undefined && breaker.isAwaitingProbe && probe.dueInMs() < remainingMs) {
      // A probe of a server that does not respond takes until the end of `connectMs`.
      await deadline.cancellation.race(settleWithin(remainingMs, clock, () => probe.next()));
      permit = breaker.tryAcquire();
      remainingMs = waitUntil - clock.now();
    }
  } finally {
    deadline.end();
  }
  if (permit === undefined) throw circuitOpenError(server, breaker);
  return permit;
}

function circuitOpenError(server: string, breaker: CircuitBreaker): McpRuntimeError {
  const { failures, recoversInMs } = breaker.stats();
  // The time is 0 while a probe is running.
  const end = recoversInMs === 0 ? "until it responds" : `for ${Math.ceil(recoversInMs / 1000)} s`;
  const text = `Server "${server}" failed ${failures} times in a row; its circuit stays open ${end}. Nothing was sent.`;
  return new McpRuntimeError("circuit-open", text, { server, retryAt: new Date(Date.now() + recoversInMs) });
}
