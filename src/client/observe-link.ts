import type { Clock } from "../concurrency/clock.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ClientRequest, Link } from "./exchange.js";
import { failureOfRequest } from "./failure-of-request.js";

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
    const { request } = exchange;
    let kind: FailureKind | undefined;
    try {
      return await next(exchange);
    } catch (error) {
      const failure = toFailure(error, request, server);
      kind = failure instanceof McpRuntimeError ? failure.kind : "cancelled";
      throw failure;
    } finally {
      const { requestId, method, tool, startedAt, trace } = request;
      const latencyMs = clock.now() - startedAt;
      onRequestEnded({ requestId, server, method, tool, latencyMs, attempts: trace.attempts, kind });
    }
  };
}

/** A caller's own reason goes back as it is; only a deadline that the caller set is told as `timeout`. */
function toFailure(error: unknown, request: ClientRequest, server: string): unknown {
  if (error instanceof McpRuntimeError) return failureOfRequest(error, request, server);
  const { signal } = request;
  const isTimeout = error instanceof Error && error.name === "TimeoutError";
  if (!isTimeout || signal?.aborted !== true || error !== signal.reason) return error;
  const text = `The caller's signal for server "${server}" ran out of time.`;
  const timeout = new McpRuntimeError("timeout", text, { server, cause: error });
  return failureOfRequest(timeout, request, server);
}
