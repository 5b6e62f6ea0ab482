import type { Clock } from "../concurrency/clock.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Link } from "./exchange.js";

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
      if (!(error instanceof McpRuntimeError)) {
        kind = "cancelled";
        throw error;
      }
      kind = error.kind;
      throw error.with({ server, tool, attempts: trace.attempts });
    } finally {
      const { attempts } = trace;
      onRequestEnded({ requestId, server, method, tool, latencyMs: clock.now() - startedAt, attempts, kind });
    }
  };
}
