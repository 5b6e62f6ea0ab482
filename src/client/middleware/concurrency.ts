import type { Semaphore } from "../../async/semaphore.js";
import type { ClientContext } from "../client-events.js";
import type { Middleware, RequestContext } from "../request-context.js";
import { RequestDeadline } from "./attempt-deadline.js";

type ConcurrencyDependencies = Pick<ClientContext, "server" | "clock">;

/** Limits concurrent requests; others wait for a slot until their total deadline. */
export function limitConcurrency(deps: ConcurrencyDependencies, semaphore: Semaphore): Middleware {
  return (next) => async (request) => {
    const release = await acquireSlot(semaphore, request, deps);
    try {
      return await next(request);
    } finally {
      release();
    }
  };
}

async function acquireSlot(
  semaphore: Semaphore,
  request: RequestContext,
  { server, clock }: ConcurrencyDependencies,
): Promise<() => void> {
  const deadline = new RequestDeadline(request, { server, clock, limit: "totalMs" });
  try {
    const acquired = semaphore.acquire(deadline.cancellation);
    deadline.start();
    return await acquired;
  } finally {
    deadline.end();
  }
}
