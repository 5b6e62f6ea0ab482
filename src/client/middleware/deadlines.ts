import type { Clock } from "../../async/clock.js";
import type { Progress } from "../../session/session.js";
import type { RequestContext, Middleware } from "../request-context.js";
import { RequestDeadline } from "./request-deadline.js";

interface DeadlineParts {
  readonly server: string;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/**
 * Everything together has `totalMs`, whatever the server does. The moment is passed on, and whatever
 * waits inside waits no longer: one more timer for each call would cost as much as the other links.
 */
export const totalDeadline: Middleware = (next) => (exchange) => {
  const { startedAt, totalMs } = exchange.request;
  if (totalMs !== 0) exchange.deadlineAt = startedAt + totalMs;
  return next(exchange);
};

/** One attempt has `requestMs`; each sign of progress gives it that time once more, within the whole time. */
export function attemptDeadline({ server, clock, warn }: DeadlineParts): Middleware {
  const rules = { server, clock, limit: "requestMs" } as const;
  return (next) => async (exchange) => {
    const { onProgress } = exchange;
    const deadline = new RequestDeadline(exchange, rules);
    const hear = (progress: Progress) => {
      deadline.renew();
      if (onProgress !== undefined) tell(onProgress, progress, warn);
    };
    try {
      const answer = next(exchange.with({ cancellation: deadline.cancellation, onProgress: hear }));
      deadline.start();
      return await answer;
    } finally {
      deadline.end();
    }
  };
}

/** A caller's function may throw or reject: that is told, and harms no call. */
function tell(
  listener: NonNullable<RequestContext["onProgress"]>,
  progress: Progress,
  warn: (message: string) => void,
): void {
  const failed = (error: unknown) => warn(`onProgress failed: ${String(error)}`);
  try {
    const returned: unknown = listener(progress);
    if (returned instanceof Promise) returned.catch(failed);
  } catch (error) {
    failed(error);
  }
}
