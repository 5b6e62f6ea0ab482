import type { Semaphore } from "../../async/semaphore.js";
import type { Middleware, RequestContext } from "../request-context.js";
import { type AttemptDeadlineDependencies, RequestDeadline } from "./attempt-deadline.js";

/** Limits concurrent requests; others wait for a slot until their total deadline. */
export function limitConcurrency(deps: AttemptDeadlineDependencies, semaphore: Semaphore): Middleware {
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
  { server, clock }: AttemptDeadlineDependencies,
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
