import type { Clock } from "../../async/clock.js";
import type { Progress } from "../../session/session.js";
import type { RequestContext, Middleware } from "../request-context.js";
import { RequestDeadline } from "./request-deadline.js";

interface DeadlineDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
}

/**
 * Sets the total deadline of a request (`totalMs`). It is enforced by the inner waits: one more timer per call would cost
 * as much as the other middleware.
 */
export const totalDeadline: Middleware = (next) => (ctx) => {
  const { startedAt, totalMs } = ctx.request;
  if (totalMs !== 0) ctx.deadlineAt = startedAt + totalMs;
  return next(ctx);
};

/** Limits an attempt to `requestMs`. Each progress notification restarts it, within the total deadline. */
export function attemptDeadline({ server, clock, warn }: DeadlineDependencies): Middleware {
  const options = { server, clock, limit: "requestMs" } as const;
  return (next) => async (ctx) => {
    const { onProgress } = ctx;
    const deadline = new RequestDeadline(ctx, options);
    const onProgressReceived = (progress: Progress) => {
      deadline.extend();
      if (onProgress !== undefined) callListener(onProgress, progress, warn);
    };
    try {
      const response = next(
        ctx.with({ cancellation: deadline.cancellation, onProgress: onProgressReceived }),
      );
      deadline.start();
      return await response;
    } finally {
      deadline.end();
    }
  };
}

/** A listener that throws or rejects causes a warning; it does not fail the call. */
function callListener(
  listener: NonNullable<RequestContext["onProgress"]>,
  progress: Progress,
  warn: (message: string) => void,
): void {
  const warnFailed = (error: unknown) => warn(`onProgress failed: ${String(error)}`);
  try {
    const returned: unknown = listener(progress);
    if (returned instanceof Promise) returned.catch(warnFailed);
  } catch (error) {
    warnFailed(error);
  }
}
