import type { Clock } from "../concurrency/clock.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Exchange, Link } from "./exchange.js";
import { failureOfExchange } from "./failure-of-exchange.js";

/** A request that has ended, well or not. */
export interface RequestEnded {
  readonly requestId: string;
  readonly server: string;
  readonly method: string;
  readonly tool: string | undefined;
  readonly latencyMs: number;
  readonly attempts: number;
  /** What went wrong; `undefined` when there is a result. */
  readonly kind: FailureKind | undefined;
}

interface ObserveParts {
  readonly server: string;
  readonly clock: Clock;
  readonly onRequestEnded: (event: RequestEnded) => void;
}

/** Tells how each request ended, and gives its failure the names of what failed. */
export function observe({ server, clock, onRequestEnded }: ObserveParts): Link {
  return async (exchange, next) => {
    const { requestId, method, tool, trace } = exchange;
    const startedAt = clock.now();
    let kind: FailureKind | undefined;
    try {
      return await next(exchange);
    } catch (error) {
      const failure = toFailure(error, exchange, server);
      kind = failure instanceof McpRuntimeError ? failure.kind : "cancelled";
      throw failure;
    } finally {
      const { attempts } = trace;
      onRequestEnded({ requestId, server, method, tool, latencyMs: clock.now() - startedAt, attempts, kind });
    }
  };
}

/** A caller's own reason goes back as it is; only a deadline that the caller set is told as `timeout`. */
function toFailure(error: unknown, exchange: Exchange, server: string): unknown {
  if (error instanceof McpRuntimeError) return failureOfExchange(error, exchange, server);
  const { signal } = exchange;
  const isTimeout = error instanceof Error && error.name === "TimeoutError";
  if (!isTimeout || signal?.aborted !== true || error !== signal.reason) return error;
  const text = `The caller's signal for server "${server}" ran out of time.`;
  const timeout = new McpRuntimeError("timeout", text, { server, cause: error });
  return failureOfExchange(timeout, exchange, server);
}
