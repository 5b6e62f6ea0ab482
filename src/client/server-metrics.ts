import type { BreakerState } from "./policies/circuit-breaker.js";
import type { ClientMetrics } from "../telemetry/request-metrics.js";

/** How many breakers of a server are in which state: it has one for each identity that has called. */
export type BreakerMetrics = Readonly<Record<BreakerState, number>>;

/** What became of the requests to one server, and how its breakers are now. */
export interface ServerMetrics extends ClientMetrics {
  readonly breakers: BreakerMetrics;
}
