import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Exchange, Link } from "./exchange.js";

interface DeadlineParts {
  readonly server: string;
  readonly clock: Clock;
}

/** Everything together has `totalMs`, whatever the server does. */
export function totalDeadline({ server, clock }: DeadlineParts): Link {
  return (exchange, next) => {
    const { totalMs: ms, cancellation } = exchange;
    const expired = () => expiry(server, exchange, `${ms} ms in all (timeouts.totalMs)`);
    return withDeadline({ ms, clock, cancellation, expired }, (limited) =>
      next({ ...exchange, cancellation: limited }),
    );
  };
}

/** One attempt has `requestMs`; each sign of progress gives it that time once more. */
export function attemptDeadline({ server, clock }: DeadlineParts): Link {
  return (exchange, next) => {
    const { requestMs: ms, cancellation, trace } = exchange;
    const before = trace.attempts;
    const expired = () => expiry(server, exchange, `${ms} ms (timeouts.requestMs)`, trace.attempts > before);
    return withDeadline({ ms, clock, cancellation, expired }, (limited, restart) =>
      next({
        ...exchange,
        cancellation: limited,
        onProgress: (progress) => {
          restart();
          exchange.onProgress?.(progress);
        },
      }),
    );
  };
}

function expiry(
  server: string,
  exchange: Exchange,
  limit: string,
  wasSent = exchange.trace.attempts > 0,
): McpRuntimeError {
  const what = exchange.tool === undefined ? exchange.method : `tool "${exchange.tool}"`;
  const advice = wasSent ? "It may still be running there." : "The request was not sent.";
  return new McpRuntimeError(
    "timeout",
    `Server "${server}" did not answer ${what} within ${limit}. ${advice}`,
    {
      server,
      outcomeUnknown: wasSent,
    },
  );
}
