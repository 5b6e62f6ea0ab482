import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Progress } from "../session/session.js";
import type { Exchange, Link } from "./exchange.js";

interface DeadlineParts {
  readonly server: string;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/** Everything together has `totalMs`, whatever the server does. After that the whole request is cancelled. */
export function totalDeadline({ server, clock }: DeadlineParts): Link {
  return async (exchange, next) => {
    const { totalMs, cancellation } = exchange;
    if (totalMs === 0) return next(exchange);
    const disarm = clock.after(totalMs, () =>
      cancellation.cancel(expiry(server, exchange, "its whole time (timeouts.totalMs)")),
    );
    try {
      return await next(exchange);
    } finally {
      disarm();
    }
  };
}

/** One attempt has `requestMs`; each sign of progress gives it that time once more. */
export function attemptDeadline({ server, clock, warn }: DeadlineParts): Link {
  return (exchange, next) => {
    const { requestMs: ms, cancellation } = exchange;
    const expired = () => expiry(server, exchange, `${ms} ms (timeouts.requestMs)`);
    return withDeadline({ ms, clock, cancellation, expired }, (limited, restart) => {
      const onProgress = (progress: Progress) => {
        restart();
        tell(exchange.onProgress, progress, warn);
      };
      return next({ ...exchange, cancellation: limited, onProgress });
    });
  };
}

/** A caller's function may throw or reject: that is told, and harms no call. */
function tell(listener: Exchange["onProgress"], progress: Progress, warn: (message: string) => void): void {
  const failed = (error: unknown) => warn(`onProgress failed: ${String(error)}`);
  try {
    const returned: unknown = listener?.(progress);
    if (returned instanceof Promise) returned.catch(failed);
  } catch (error) {
    failed(error);
  }
}

function expiry(server: string, exchange: Exchange, limit: string): McpRuntimeError {
  const what = exchange.tool === undefined ? exchange.method : `tool "${exchange.tool}"`;
  const advice = exchange.trace.wasSent() ? "It may still be running there." : "The request was not sent.";
  return new McpRuntimeError(
    "timeout",
    `Server "${server}" did not answer ${what} within ${limit}. ${advice}`,
    {
      server,
    },
  );
}
