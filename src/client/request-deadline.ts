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
export function requestDeadline(
  { request, cancellation, deadlineAt: endsAt }: Exchange,
  { server, clock, ms }: RequestDeadlineOptions,
): RenewableDeadline {
  return new RenewableDeadline({ ms, endsAt, clock, cancellation, expired: expiryOf(request, server) });
}

/** Made apart: it sees the request, and not all that surrounds it. */
function expiryOf(request: ClientRequest, server: string) {
  return (limit: "ms" | "endsAt") => outOfTime(request, limit === "ms" ? "requestMs" : "totalMs", server);
}
