import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { describeThrown } from "../../errors/sanitize-text.js";
import { isPlainObject } from "../../json/json.js";
import { type Middleware, type RequestContext, withRequestDetails } from "../request-context.js";
import type { PipelineDependencies } from "./pipeline-dependencies.js";

type ObserveDependencies = Pick<PipelineDependencies, "server" | "clock" | "requestEvents" | "redactor">;

/** Emits the start and end of each request, and adds request details to its failure. */
export function observe(deps: ObserveDependencies): Middleware {
  const { clock, requestEvents } = deps;
  return (next) => async (request) => {
    let outcome: unknown;
    try {
      outcome = await (requestEvents.hasStartListeners
        ? requestEvents.runObserved(request, next)
        : next(request));
      if (isPlainObject(outcome) && outcome["isError"] === true) request.kind = "tool-error";
      return outcome;
    } catch (error) {
      outcome = toFailure(error, request, deps);
      request.kind = outcome instanceof McpRuntimeError ? outcome.kind : "cancelled";
      throw outcome;
    } finally {
      request.latencyMs = clock.now() - request.startedAt;
      requestEvents.onEnd(request, outcome);
    }
  };
}

/**
 * The abort reason of the caller is kept; only the reason of `AbortSignal.timeout` becomes kind `timeout`. Any other error
 * was not expected: if the request was sent, the failure says that the server may have run it.
 */
function toFailure(
  error: unknown,
  request: RequestContext,
  { server, redactor }: Pick<ObserveDependencies, "server" | "redactor">,
): unknown {
  if (error instanceof McpRuntimeError) return withRequestDetails(error, request, server);
  const { signal, wasSent, mayHaveRun } = request;
  if (signal?.aborted === true) {
    const isTimeout = error instanceof Error && error.name === "TimeoutError";
    if (!isTimeout || error !== signal.reason) return error;
    const text = `The request to server "${server}" was aborted by the timeout of the caller's signal.`;
    const timeout = new McpRuntimeError("timeout", text, { server, cause: error });
    return withRequestDetails(timeout, request, server);
  }
  if (!wasSent && !mayHaveRun) return error;
  const reason = redactor.excerpt(describeThrown(error));
  const text = `The request to server "${server}" was sent, but an unexpected error occurred: ${reason}`;
  const details = { server, outcomeUnknown: true, cause: redactor.redactCause(error) };
  return withRequestDetails(new McpRuntimeError("invalid-response", text, details), request, server);
}
