import type { ClientContext } from "../client-events.js";
import type { ClientLifecycle } from "../client-lifecycle.js";
import type { CircuitBreakers } from "../policies/circuit-breaker.js";
import type { RetryBudgets } from "../policies/retry-budget.js";
import type { ServerProbe } from "../policies/server-probe.js";
import type { RequestEventEmitter } from "../request-event-emitter.js";

/** What the middleware of a client needs. */
export interface PipelineDependencies extends ClientContext {
  readonly lifecycle: ClientLifecycle;
  readonly requestEvents: RequestEventEmitter;
  readonly retryBudgets: RetryBudgets;
  readonly breakers: CircuitBreakers;
  readonly probe: ServerProbe;
}
