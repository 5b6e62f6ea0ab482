import type { Clock } from "../../async/clock.js";
import { delay } from "../../async/delay.js";
import type { RetrySettings } from "../../config/server-config.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Backoff } from "../policies/backoff.js";
import { FAILURE_POLICIES } from "../policies/failure-policies.js";
import type { ClientRequest, RequestContext, Middleware, Handler } from "../request-context.js";
import type { RetryTokensByIdentity } from "../policies/retry-budgets.js";

export interface RetryParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly retry: () => RetrySettings;
  readonly tokens: RetryTokensByIdentity;
  readonly onRetry: (request: ClientRequest, failure: McpRuntimeError, waitMs: number) => void;
}

/**
 * Sends a request again, where that is safe and may help: what provably did not run, or what somebody
 * who may know called idempotent. One budget for the whole call, handshakes included; no wait goes
 * beyond its deadline.
 */
export function retry(parts: RetryParts): Middleware {
  return (next) => (exchange) => {
    const answer = next(exchange);
    parts.tokens.of(exchange.request.identity).earn();
    return answer.catch((error: unknown) => repeat(exchange, next, error, parts));
  };
}

/** From the first failure to a result, or to the failure that is the last. */
async function repeat(
  exchange: RequestContext,
  next: Handler,
  first: unknown,
  parts: RetryParts,
): Promise<unknown> {
  const { clock, random, onRetry } = parts;
  const { request, cancellation, deadlineAt } = exchange;
  const { trace } = request;
  const tokens = parts.tokens.of(request.identity);
  const { maxRetries, baseDelayMs, maxDelayMs, freshSession } = parts.retry();
  const backoff = new Backoff({ baseDelayMs, maxDelayMs, random });
  let last = first;
  let attemptsBefore = 0;
  for (let left = maxRetries; ; left -= 1) {
    if (left === 0 || tokens.isEmpty || cancellation.isCancelled || !mayRepeat(last, request)) throw last;
    const failed = last;
    const waitMs = waitBefore(failed, backoff);
    if (clock.now() + waitMs >= deadlineAt) throw failed;
    tokens.spend();
    trace.mayHaveRun ||= failed.outcomeUnknown || (failed.kind === "timeout" && trace.wasSent);
    onRetry(request, failed, waitMs);
    await delay(waitMs, clock, cancellation);
    const isIsolated = freshSession && trace.attempts > attemptsBefore && isTransient(failed);
    attemptsBefore = trace.attempts;
    try {
      return await next(exchange.with({ isIsolated }));
    } catch (error) {
      const gotNoSession = isIsolated && trace.attempts === attemptsBefore && !mayRepeat(error, request);
      // Left alone, or refused a session of its own: what the call failed of before says more.
      if (isCircuitOpen(error) || (gotNoSession && !cancellation.isCancelled)) throw failed;
      last = error;
    }
  }
}

function isCircuitOpen(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "circuit-open";
}

/** It may be the session's own: its connection, its worker, its place behind a load balancer. */
function isTransient({ kind }: McpRuntimeError): boolean {
  return FAILURE_POLICIES[kind].retry === "if-idempotent";
}

function mayRepeat(error: unknown, { isIdempotent, trace }: ClientRequest): error is McpRuntimeError {
  if (!(error instanceof McpRuntimeError)) return false;
  const { retry: when } = FAILURE_POLICIES[error.kind];
  if (when === "always") return true;
  // A handshake that took all its time is not given as much again: the caller has waited enough.
  const wasNotSent = error.kind !== "timeout" && !error.outcomeUnknown && !trace.wasSent;
  return when === "if-idempotent" && (isIdempotent || wasNotSent);
}

/** When the server said, if it did; else as the dice fall. */
function waitBefore({ retryAt }: McpRuntimeError, backoff: Backoff): number {
  const waitMs = backoff.nextMs();
  return retryAt === undefined ? waitMs : Math.max(waitMs, retryAt.getTime() - Date.now());
}
