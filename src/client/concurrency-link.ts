import { Semaphore } from "../concurrency/semaphore.js";
import type { Exchange, Link, Next } from "./exchange.js";

/** So many requests at a time; the others wait their turn, for as long as their deadline lets them. */
export function limitConcurrency(most: () => number | undefined): Link {
  let slots: Semaphore | undefined;
  return (exchange, next) => {
    const limit = most();
    if (limit === undefined) return next(exchange);
    slots ??= new Semaphore(limit);
    return inTurn(slots, exchange, next);
  };
}

async function inTurn(slots: Semaphore, exchange: Exchange, next: Next): Promise<unknown> {
  const leave = await slots.enter(exchange.cancellation);
  try {
    return await next(exchange);
  } finally {
    leave();
  }
}
