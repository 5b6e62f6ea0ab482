import type { Clock } from "../concurrency/clock.js";
import { RenewableDeadline } from "../concurrency/deadline.js";
import { Semaphore } from "../concurrency/semaphore.js";
import type { Exchange, Link, Next } from "./exchange.js";
import { outOfTime } from "./out-of-time.js";

export interface ConcurrencyParts {
  readonly server: string;
  readonly clock: Clock;
  /** `undefined`: no limit. */
  readonly concurrentCalls: () => number | undefined;
}

/** So many requests at a time; the others wait their turn, for as long as their deadline lets them. */
export function limitConcurrency(parts: ConcurrencyParts): Link {
  let slots: Semaphore | undefined;
  return (next) => (exchange) => {
    const limit = parts.concurrentCalls();
    if (limit === undefined) return next(exchange);
    slots ??= new Semaphore(limit);
    return inTurn(slots, exchange, next, parts);
  };
}

async function inTurn(
  slots: Semaphore,
  exchange: Exchange,
  next: Next,
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
  { request, cancellation, deadlineAt: endsAt }: Exchange,
  { server, clock }: ConcurrencyParts,
): Promise<() => void> {
  const expired = () => outOfTime(request, "totalMs", server);
  const deadline = new RenewableDeadline({ ms: 0, endsAt, clock, cancellation, expired });
  try {
    const entering = slots.enter(deadline);
    deadline.start();
    return await entering;
  } finally {
    deadline.end();
  }
}
