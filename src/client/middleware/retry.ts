import { type Clock, delay } from "../../async/clock.js";
import type { RetrySettings } from "../../config/server-config.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Backoff } from "../policies/backoff.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { RetryBudgets } from "../policies/retry-budget.js";
import type { ClientRequest, RequestContext, Middleware, Handler } from "../request-context.js";

export interface RetryDependencies {
  readonly clock: Clock;
  readonly random: () => number;
  readonly retrySettings: () => RetrySettings;
  readonly budgets: RetryBudgets;
  readonly onRetry: (request: ClientRequest, failure: McpRuntimeError, waitMs: number) => void;
}

/**
 * Retries a request where that is safe: when it provably did not run, or when it is idempotent. The budget covers the
 * whole call, handshakes included, and no delay exceeds the total deadline.
 */
export function retry(deps: RetryDependencies): Middleware {
  return (next) => (ctx) => {
    const response = next(ctx);
    deps.budgets.get(ctx.request.identity).deposit();
    return response.catch((error: unknown) => retryUntilDone(ctx, next, error, deps));
  };
}

/** Retries from the first failure until a result or a final failure. */
async function retryUntilDone(
  ctx: RequestContext,
  next: Handler,
  firstError: unknown,
  deps: RetryDependencies,
): Promise<unknown> {
  const { clock, random, onRetry } = deps;
  const { request, cancellation, deadlineAt } = ctx;
  const { trace } = request;
  const budget = deps.budgets.get(request.identity);
  const { maxRetries, baseDelayMs, maxDelayMs, freshSession } = deps.retrySettings();
  const backoff = new Backoff({ baseDelayMs, maxDelayMs, random });
  let lastError = firstError;
  let attemptsBefore = 0;
  for (let retriesLeft = maxRetries; ; retriesLeft -= 1) {
    if (retriesLeft === 0 || budget.isEmpty || cancellation.isCancelled || !isRetryable(lastError, request))
      throw lastError;
    const failure = lastError;
    const waitMs = retryDelay(failure, backoff);
    if (clock.now() + waitMs >= deadlineAt) throw failure;
    budget.withdraw();
    trace.mayHaveRun ||= failure.outcomeUnknown || (failure.kind === "timeout" && trace.wasSent);
    onRetry(request, failure, waitMs);
    await delay(waitMs, clock, cancellation);
    const useFreshSession = freshSession && trace.attempts > attemptsBefore && mayBeSessionSpecific(failure);
    attemptsBefore = trace.attempts;
    try {
      return await next(ctx.with({ useFreshSession }));
    } catch (error) {
      const failedToOpenSession =
        useFreshSession && trace.attempts === attemptsBefore && !isRetryable(error, request);
      // Circuit open, or no fresh session available: the previous failure is more informative.
      if (isCircuitOpen(error) || (failedToOpenSession && !cancellation.isCancelled)) throw failure;
      lastError = error;
    }
  }
}

function isCircuitOpen(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "circuit-open";
}

/** The cause may be the session: its connection, its worker, its route through a load balancer. */
function mayBeSessionSpecific({ kind }: McpRuntimeError): boolean {
  return FAILURE_POLICIES[kind].retry === "if-idempotent";
}

function isRetryable(error: unknown, { isIdempotent, trace }: ClientRequest): error is McpRuntimeError {
  if (!(error instanceof McpRuntimeError)) return false;
  const { retry: condition } = FAILURE_POLICIES[error.kind];
  if (condition === "always") return true;
  // A handshake that timed out is not retried: the caller has waited long enough.
  const wasNotSent = error.kind !== "timeout" && !error.outcomeUnknown && !trace.wasSent;
  return condition === "if-idempotent" && (isIdempotent || wasNotSent);
}

/** The backoff delay, or longer if the server sent a time to retry at. */
function retryDelay({ retryAt }: McpRuntimeError, backoff: Backoff): number {
  const waitMs = backoff.nextMs();
  return retryAt === undefined ? waitMs : Math.max(waitMs, retryAt.getTime() - Date.now());
}
