import type { Clock } from "../async/clock.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Session } from "../session/session.js";
import { circuitBreaker, type CircuitBreakerDependencies } from "./middleware/circuit-breaker.js";
import { type ConcurrencyDependencies, limitConcurrency } from "./middleware/concurrency.js";
import { attemptDeadline, totalDeadline } from "./middleware/deadlines.js";
import { fallback, type FallbackDependencies } from "./middleware/fallback.js";
import { observe } from "./middleware/observe.js";
import { retry, type RetryDependencies } from "./middleware/retry.js";
import { recoverSession, type SessionRecoveryDependencies } from "./middleware/session-recovery.js";
import { compose, type Middleware, type Handler } from "./request-context.js";
import type { RequestEventEmitter } from "./request-event-emitter.js";

interface PipelineDependencies
  extends
    SessionRecoveryDependencies,
    RetryDependencies,
    CircuitBreakerDependencies,
    FallbackDependencies,
    ConcurrencyDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly requestEvents: RequestEventEmitter;
}

/** The settings that decide which middleware is used. */
type PipelineSettings = Pick<ServerConfig, "fallback" | "limits">;

/**
 * Creates the pipeline of all requests to a server. The first middleware is the outermost, and the order is the
 * design: everything runs within the total deadline, and each retried attempt gets its own deadline.
 */
export function createPipeline(
  deps: PipelineDependencies,
  { fallback: option, limits }: PipelineSettings,
): Handler {
  const { concurrentCalls } = limits;
  const middlewares: readonly (Middleware | undefined)[] = [
    observe(deps),
    option === undefined ? undefined : fallback(deps, option),
    totalDeadline,
    retry(deps),
    concurrentCalls === undefined ? undefined : limitConcurrency(deps, concurrentCalls),
    circuitBreaker(deps),
    attemptDeadline(deps),
    recoverSession(deps),
  ];
  return compose(
    middlewares.filter((middleware) => middleware !== undefined),
    send(deps.server),
  );
}

function send(server: string): Handler {
  return ({ request, session, cancellation, onProgress }) => {
    const { method, params, headers, deferInput, context, trace, capability } = request;
    if (session === undefined)
      return Promise.reject(new McpRuntimeError("not-sent", `No session was opened for ${method}.`));
    if (capability !== undefined && lacksCapability(session, capability)) {
      const text = `Server "${server}" does not support ${capability}: ${method} was not sent.`;
      return Promise.reject(new McpRuntimeError("not-found", text, { server }));
    }
    return session.request({
      method,
      params,
      cancellation,
      headers,
      deferInput,
      context,
      onProgress,
      tracker: trace,
    });
  };
}

function lacksCapability({ metadata }: Session, capability: string): boolean {
  return metadata !== undefined && metadata.capabilities[capability] === undefined;
}
