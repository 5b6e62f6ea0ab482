import type { CancelScope } from "../../async/cancel-scope.js";
import type { Clock } from "../../async/clock.js";
import type { ClientRequest, RequestContext } from "../request-context.js";
import { outOfTime } from "./deadline-error.js";

interface DeadlineRules {
  readonly server: string;
  readonly clock: Clock;
  /** What there is: `requestMs`, which can be given again, or no more than what is left of the whole time. */
  readonly limit: "requestMs" | "totalMs";
}

/**
 * How long something may take that is done for a request, from `start()` to `end()`: it is cancelled when
 * time is up. Every attempt has one, and most need no failure: it is made of the request only then.
 */
export class RequestDeadline {
  /** Of what is done. */
  readonly cancellation: CancelScope;
  readonly #rules: DeadlineRules;
  readonly #request: ClientRequest;
  readonly #endsAt: number;
  #isOver = false;
  #disarm: (() => void) | undefined;

  constructor({ request, cancellation, deadlineAt }: RequestContext, rules: DeadlineRules) {
    this.cancellation = cancellation.child();
    this.#rules = rules;
    this.#request = request;
    this.#endsAt = deadlineAt;
  }

  /** Once it has begun: setting the timer then takes none of its time. It may have been renewed by then. */
  start(): void {
    if (!this.#isOver && this.#disarm === undefined) this.#arm();
  }

  /** `requestMs` once more. */
  renew(): void {
    if (this.#isOver) return;
    this.#disarm?.();
    this.#arm();
  }

  end(): void {
    this.#isOver = true;
    this.#disarm?.();
    this.#disarm = undefined;
    this.cancellation.release();
  }

  #arm(): void {
    const { clock, limit } = this.#rules;
    const leftMs = Math.max(0, this.#endsAt - clock.now());
    const ms = limit === "requestMs" ? this.#request.requestMs : 0;
    if (ms !== 0 && ms < leftMs) this.#disarm = clock.after(ms, () => this.#expire("requestMs"));
    else if (leftMs !== Number.POSITIVE_INFINITY)
      this.#disarm = clock.after(leftMs, () => this.#expire("totalMs"));
  }

  #expire(limit: "requestMs" | "totalMs"): void {
    this.cancellation.cancel(outOfTime(this.#request, limit, this.#rules.server));
  }
}
