import type { Clock } from "../concurrency/clock.js";
import { RenewableDeadline } from "../concurrency/deadline.js";
import type { ClientRequest, Exchange } from "./exchange.js";
import { outOfTime } from "./out-of-time.js";

interface RequestDeadlineOptions {
  readonly server: string;
  readonly clock: Clock;
  /** What can be given again; 0 means none. */
  readonly ms: number;
}

/** How long something may take that is done for a request: no longer than the request as a whole. */
export class RequestDeadline extends RenewableDeadline {
  readonly #request: ClientRequest;
  readonly #server: string;

  constructor(exchange: Exchange, { server, clock, ms }: RequestDeadlineOptions) {
    const { request, cancellation, deadlineAt: endsAt } = exchange;
    super({ ms, endsAt, clock, cancellation });
    this.#request = request;
    this.#server = server;
  }

  protected override expired(limit: "ms" | "endsAt"): unknown {
    return outOfTime(this.#request, limit === "ms" ? "requestMs" : "totalMs", this.#server);
  }
}
