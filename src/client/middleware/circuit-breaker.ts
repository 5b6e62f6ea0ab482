import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { CircuitBreaker, Permit } from "../policies/circuit-breaker.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { Middleware } from "../request-context.js";

export interface BreakerParts {
  readonly server: string;
  /** By identity; `undefined` where the server has none. */
  readonly breakerOf: (identity: string) => CircuitBreaker | undefined;
}

/** Lets no attempt through to a server that fails again and again. */
export function breaker({ server, breakerOf }: BreakerParts): Middleware {
  return (next) => (exchange) => {
    const circuit = breakerOf(exchange.request.identity);
    if (circuit === undefined) return next(exchange);
    const permit = circuit.enter();
    if (permit === undefined) return Promise.reject(circuitOpen(server, circuit));
    return next(exchange).then(
      (result) => {
        permit.succeed();
        return result;
      },
      (error: unknown) => {
        judge(error, permit);
        throw error;
      },
    );
  };
}

function judge(error: unknown, permit: Permit): void {
  const isFailure = error instanceof McpRuntimeError && FAILURE_POLICIES[error.kind].countsForBreaker;
  if (isFailure) permit.fail();
  else permit.release();
}

function circuitOpen(server: string, circuit: CircuitBreaker): McpRuntimeError {
  const { failures, recoversInMs } = circuit.stats();
  const seconds = Math.ceil(recoversInMs / 1000);
  const text = `Server "${server}" failed ${failures} times in a row and is left alone for ${seconds} s. Nothing was sent.`;
  return new McpRuntimeError("circuit-open", text, { server, retryAt: new Date(Date.now() + recoversInMs) });
}
