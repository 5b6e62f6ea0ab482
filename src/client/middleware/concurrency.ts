import type { Clock } from "../../async/clock.js";
import type { Semaphore } from "../../async/semaphore.js";
import type { RequestContext, Middleware, Handler } from "../request-context.js";
import { RequestDeadline } from "./request-deadline.js";

export interface ConcurrencyDependencies {
  readonly server: string;
  readonly clock: Clock;
  /** Returns the semaphore of the server, which is created once. */
  readonly semaphoreFor: (limit: number) => Semaphore;
}

/** Limits concurrent requests; others wait for a slot until their total deadline. */
export function limitConcurrency(deps: ConcurrencyDependencies, limit: number): Middleware {
  return (next) => (ctx) => runWithSlot(deps.semaphoreFor(limit), ctx, next, deps);
}

async function runWithSlot(
  semaphore: Semaphore,
  ctx: RequestContext,
  next: Handler,
  deps: ConcurrencyDependencies,
): Promise<unknown> {
  const release = await acquireSlot(semaphore, ctx, deps);
  try {
    return await next(ctx);
  } finally {
    release();
  }
}

async function acquireSlot(
  semaphore: Semaphore,
  ctx: RequestContext,
  { server, clock }: ConcurrencyDependencies,
): Promise<() => void> {
  const deadline = new RequestDeadline(ctx, { server, clock, limit: "totalMs" });
  try {
    const acquired = semaphore.acquire(deadline.cancellation);
    deadline.start();
    return await acquired;
  } finally {
    deadline.end();
  }
}
