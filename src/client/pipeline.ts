import type { Semaphore } from "../async/semaphore.js";
import type { ServerConfig } from "../config/server-config.js";
import { attemptDeadline } from "./middleware/attempt-deadline.js";
import { circuitBreaker } from "./middleware/circuit-breaker.js";
import { limitConcurrency } from "./middleware/concurrency.js";
import { fallback } from "./middleware/fallback.js";
import { observe } from "./middleware/observe.js";
import type { PipelineDependencies } from "./middleware/pipeline-dependencies.js";
import { retry } from "./middleware/retry.js";
import { recoverSession } from "./middleware/session-recovery.js";
import type { Handler, Middleware } from "./request-context.js";

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
