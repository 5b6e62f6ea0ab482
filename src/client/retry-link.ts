import type { Clock } from "../concurrency/clock.js";
import { delay } from "../concurrency/delay.js";
import type { RetrySettings } from "../definitions/server-spec.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Backoff } from "../policies/backoff.js";
import { FAILURE_MATRIX } from "../policies/failure-matrix.js";
import type { RetryTokensByIdentity } from "./retry-tokens-by-identity.js";
import type { Exchange, Link } from "./exchange.js";

export interface RetryParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly retry: () => RetrySettings;
  readonly tokens: RetryTokensByIdentity;
  readonly onRetry: (exchange: Exchange, failure: McpRuntimeError, waitMs: number) => void;
}

/**
 * Sends a request again, where that is safe and may help: what provably did not run, or what somebody
 * who may know called idempotent. One budget for the whole call, handshakes included; no wait goes
 * beyond its deadline.
 */
export function retry(parts: RetryParts): Link {
  const { clock, random } = parts;
  return async (exchange, next) => {
    const tokens = parts.tokens.of(exchange.identity);
    tokens.earn();
    const { max, baseMs, maxMs } = parts.retry();
    const backoff = new Backoff({ baseMs, maxMs, random });
    let failed: McpRuntimeError | undefined;
    for (let retries = 0; ; retries += 1) {
      try {
        return await next(exchange);
      } catch (error) {
        // It opened while this call was failing: what the call failed of says more.
        if (failed !== undefined && isCircuitOpen(error)) throw failed;
        const isWorth = retries < max && !exchange.cancellation.isCancelled && mayRepeat(error, exchange);
        if (!isWorth || tokens.isEmpty) throw error;
        const waitMs = waitBefore(error, backoff);
        if (clock.now() + waitMs >= exchange.deadlineAt) throw error;
        tokens.spend();
        failed = error;
        parts.onRetry(exchange, error, waitMs);
        await delay(waitMs, clock, exchange.cancellation);
      }
    }
  };
}

function isCircuitOpen(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "circuit-open";
}

function mayRepeat(error: unknown, { isIdempotent, trace }: Exchange): error is McpRuntimeError {
  if (!(error instanceof McpRuntimeError)) return false;
  const { repeat } = FAILURE_MATRIX[error.kind];
  if (repeat === "yes") return true;
  // A handshake that took all its time is not given as much again: the caller has waited enough.
  const wasNotSent = error.kind !== "timeout" && !error.outcomeUnknown && !trace.wasSent();
  return repeat === "if idempotent" && (isIdempotent || wasNotSent);
}

/** When the server said, if it did; else as the dice fall. */
function waitBefore({ retryAt }: McpRuntimeError, backoff: Backoff): number {
  const waitMs = backoff.nextMs();
  return retryAt === undefined ? waitMs : Math.max(waitMs, retryAt.getTime() - Date.now());
}
