import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { CircuitBreaker, CircuitPermit, CircuitBreakers } from "../policies/circuit-breaker.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { Middleware } from "../request-context.js";

export interface CircuitBreakerDependencies {
  readonly server: string;
  readonly breakers: Pick<CircuitBreakers, "get">;
}

/** Rejects attempts while the circuit is open, and records the outcome of the others. */
export function circuitBreaker({ server, breakers }: CircuitBreakerDependencies): Middleware {
  return (next) => (request) => {
    const breaker = breakers.get(request.identity);
    if (breaker === undefined) return next(request);
    const permit = breaker.tryAcquire();
    if (permit === undefined) return Promise.reject(circuitOpenError(server, breaker));
    return next(request).then(
      (result) => {
        permit.succeed();
        return result;
      },
      (error: unknown) => {
        recordOutcome(error, permit);
        throw error;
      },
    );
  };
}

function recordOutcome(error: unknown, permit: CircuitPermit): void {
  const isFailure = error instanceof McpRuntimeError && FAILURE_POLICIES[error.kind].countsForBreaker;
  if (isFailure) permit.fail();
  else permit.release();
}

function circuitOpenError(server: string, breaker: CircuitBreaker): McpRuntimeError {
  const { failures, recoversInMs } = breaker.stats();
  const seconds = Math.ceil(recoversInMs / 1000);
  const text = `Server "${server}" failed ${failures} times in a row; its circuit stays open for ${seconds} s. Nothing was sent.`;
  return new McpRuntimeError("circuit-open", text, { server, retryAt: new Date(Date.now() + recoversInMs) });
}
