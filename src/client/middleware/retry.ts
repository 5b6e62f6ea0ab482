import { delay } from "../../async/clock.js";
import type { ServerConfig } from "../../config/server-config.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ClientContext } from "../client-events.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { RetryBudgets } from "../policies/retry-budget.js";
import {
  type Handler,
  hasWaitedToConnect,
  type Middleware,
  type RequestContext,
} from "../request-context.js";
import type { RequestEventEmitter } from "../request-event-emitter.js";

export interface RetryDependencies extends Pick<ClientContext, "clock" | "random"> {
  readonly lifecycle: { readonly config: Pick<ServerConfig, "retry" | "timeouts"> };
  readonly retryBudgets: Pick<RetryBudgets, "get">;
  readonly requestEvents: Pick<RequestEventEmitter, "onRetry">;
}

/**
 * Retries a request where that is safe: when it provably did not run, or when it is idempotent. The budget covers the
 * whole call, handshakes included, and no delay exceeds the total deadline. After a timeout, a call that has waited for
 * `connectMs` to connect is not retried.
 */
export function retry(deps: RetryDependencies): Middleware {
  return (next) => (request) => {
    const response = next(request);
    deps.retryBudgets.get(request.identity).deposit();
    return response.catch((error: unknown) => retryUntilDone(request, next, error, deps));
  };
}

/** Retries from the first failure until a result or a final failure. */
async function retryUntilDone(
  request: RequestContext,
  next: Handler,
  firstError: unknown,
  { clock, random, lifecycle, retryBudgets, requestEvents }: RetryDependencies,
): Promise<unknown> {
  const { cancellation, deadlineAt } = request;
  const budget = retryBudgets.get(request.identity);
  const { maxRetries, baseDelayMs, maxDelayMs, freshSession } = lifecycle.config.retry;
  const { connectMs } = lifecycle.config.timeouts;
  const backoff = new Backoff({ baseDelayMs, maxDelayMs, random });
  let lastError = firstError;
  let attemptsBefore = 0;
  for (let retriesLeft = maxRetries; ; retriesLeft -= 1) {
    if (retriesLeft === 0 || budget.isEmpty || cancellation.isCancelled || !isRetryable(lastError, request))
      throw lastError;
    const failure = lastError;
    const waitMs = retryDelay(failure, backoff);
    const retryAt = clock.now() + waitMs;
    // Otherwise a start with a server that does not respond would take `connectMs` three times.
    const hasWaited = failure.kind === "timeout" && hasWaitedToConnect(request, connectMs);
    if (retryAt >= deadlineAt || hasWaited) throw failure;
    budget.withdraw();
    request.mayHaveRun ||= failure.outcomeUnknown || (failure.kind === "timeout" && request.wasSent);
    requestEvents.onRetry(request, failure, waitMs);
    await delay(waitMs, clock, cancellation);
    const useFreshSession =
      freshSession && request.attempts > attemptsBefore && mayBeSessionSpecific(failure);
    attemptsBefore = request.attempts;
    request.useFreshSession = useFreshSession;
    try {
      return await next(request);
    } catch (error) {
      const failedToOpenSession =
        useFreshSession && request.attempts === attemptsBefore && !isRetryable(error, request);
      const isCircuitOpen = error instanceof McpRuntimeError && error.kind === "circuit-open";
      // Circuit open, or no fresh session available: the previous failure is more informative.
      if (isCircuitOpen || (failedToOpenSession && !cancellation.isCancelled)) throw failure;
      lastError = error;
    }
  }
}

/** The cause may be the session: its connection, its worker, its route through a load balancer. */
function mayBeSessionSpecific({ kind }: McpRuntimeError): boolean {
  return FAILURE_POLICIES[kind].retry === "if-idempotent";
}

function isRetryable(error: unknown, request: RequestContext): error is McpRuntimeError {
  if (!(error instanceof McpRuntimeError)) return false;
  const { isIdempotent, retriesTimeouts, wasSent, hasConnectTimedOut } = request;
  const { retry: condition } = FAILURE_POLICIES[error.kind];
  if (condition === "always") return true;
  const mayHaveBeenSent = error.kind === "timeout" && !hasConnectTimedOut;
  if (error.kind === "timeout" && wasSent && !retriesTimeouts) return false;
  const wasNotSent = !mayHaveBeenSent && !error.outcomeUnknown && !wasSent;
  return condition === "if-idempotent" && (isIdempotent || wasNotSent);
}

/** The backoff delay, or longer if the server sent a time to retry at. */
function retryDelay({ retryAt }: McpRuntimeError, backoff: Backoff): number {
  const waitMs = backoff.nextMs();
  return retryAt === undefined ? waitMs : Math.max(waitMs, retryAt.getTime() - Date.now());
}

interface BackoffOptions {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Retry delays: exponential with decorrelated jitter, so that callers that failed together do not retry together. */
export class Backoff {
  readonly #options: BackoffOptions;
  #lastMs: number;

  constructor(options: BackoffOptions) {
    this.#options = options;
    this.#lastMs = options.baseDelayMs;
  }

  nextMs(): number {
    const { baseDelayMs, maxDelayMs, random } = this.#options;
    const upperMs = Math.max(baseDelayMs, this.#lastMs * 3);
    this.#lastMs = Math.min(maxDelayMs, baseDelayMs + random() * (upperMs - baseDelayMs));
    return this.#lastMs;
  }
}
