import type { Semaphore } from "../async/semaphore.js";
import type { ServerConfig } from "../config/server-config.js";
import { attemptDeadline, type AttemptDeadlineDependencies } from "./middleware/attempt-deadline.js";
import { circuitBreaker, type CircuitBreakerDependencies } from "./middleware/circuit-breaker.js";
import { limitConcurrency } from "./middleware/concurrency.js";
import { fallback, type FallbackDependencies } from "./middleware/fallback.js";
import { observe, type ObserveDependencies } from "./middleware/observe.js";
import { retry, type RetryDependencies } from "./middleware/retry.js";
import { recoverSession, type SessionRecoveryDependencies } from "./middleware/session-recovery.js";
import type { Handler, Middleware } from "./request-context.js";

export type PipelineDependencies = ObserveDependencies &
  FallbackDependencies &
  RetryDependencies &
  CircuitBreakerDependencies &
  AttemptDeadlineDependencies &
  SessionRecoveryDependencies;

/**
 * Creates the pipeline of all requests to a server. The first middleware is the outermost, and the order is the
 * design: everything runs within the total deadline, and each retried attempt gets its own deadline. The last handler
 * sends the request on the current session.
 */
export function createPipeline(
  deps: PipelineDependencies,
  config: Pick<ServerConfig, "fallback">,
  semaphore: Semaphore | undefined,
): Handler {
  const middlewares: readonly (Middleware | undefined)[] = [
    observe(deps),
    config.fallback === undefined ? undefined : fallback(deps, config.fallback),
    retry(deps),
    semaphore === undefined ? undefined : limitConcurrency(deps, semaphore),
    circuitBreaker(deps),
    attemptDeadline(deps),
  ];
  return middlewares.reduceRight<Handler>(
    (next, middleware) => middleware?.(next) ?? next,
    recoverSession(deps),
  );
}
