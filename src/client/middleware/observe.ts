import type { Clock } from "../../async/clock.js";
import { isPlainObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ClientRequest, Middleware } from "../request-context.js";
import { failureOfRequest } from "../with-request-details.js";
import type { RequestWatch } from "../request-event-emitter.js";

interface ObserveParts {
  readonly server: string;
  readonly clock: Clock;
  readonly watch: RequestWatch;
}

/** Tells how each request began and ended, and gives its failure the names of what failed. */
export function observe({ server, clock, watch }: ObserveParts): Middleware {
  return (next) => async (exchange) => {
    const { request } = exchange;
    const { trace } = request;
    let outcome: unknown;
    try {
      outcome = await watch.start(exchange, next);
      if (isToolError(outcome)) trace.kind = "tool-error";
      return outcome;
    } catch (error) {
      outcome = toFailure(error, request, server);
      trace.kind = outcome instanceof McpRuntimeError ? outcome.kind : "cancelled";
      throw outcome;
    } finally {
      trace.latencyMs = clock.now() - request.startedAt;
      watch.ended(request, outcome);
    }
  };
}

function isToolError(result: unknown): boolean {
  return isPlainObject(result) && result["isError"] === true;
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
