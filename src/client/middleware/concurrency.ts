import type { Clock } from "../../async/clock.js";
import type { Semaphore } from "../../async/semaphore.js";
import type { RequestContext, Middleware, Handler } from "../request-context.js";
import { RequestDeadline } from "./request-deadline.js";

export interface ConcurrencyParts {
  readonly server: string;
  readonly clock: Clock;
  /** The slots of this server, which are made once. */
  readonly slotsFor: (limit: number) => Semaphore;
}

/** So many requests at a time; the others wait their turn, for as long as their deadline lets them. */
export function limitConcurrency(parts: ConcurrencyParts, limit: number): Middleware {
  return (next) => (exchange) => inTurn(parts.slotsFor(limit), exchange, next, parts);
}

async function inTurn(
  slots: Semaphore,
  exchange: RequestContext,
  next: Handler,
  parts: ConcurrencyParts,
): Promise<unknown> {
  const leave = await takeSlot(slots, exchange, parts);
  try {
    return await next(exchange);
  } finally {
    leave();
  }
}

async function takeSlot(
  slots: Semaphore,
  exchange: RequestContext,
  { server, clock }: ConcurrencyParts,
): Promise<() => void> {
  const deadline = new RequestDeadline(exchange, { server, clock, limit: "totalMs" });
  try {
    const entering = slots.enter(deadline.cancellation);
    deadline.start();
    return await entering;
  } finally {
    deadline.end();
  }
}
