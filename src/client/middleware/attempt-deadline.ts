import type { CancelScope } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ClientContext } from "../client-events.js";
import type { Middleware, RequestContext } from "../request-context.js";

/** Limits an attempt to `requestMs`. Each progress notification restarts it, within the total deadline. */
export function attemptDeadline({ server, clock }: Pick<ClientContext, "server" | "clock">): Middleware {
  const options = { server, clock, limit: "requestMs" } as const;
  return (next) => async (request) => {
    const { cancellation } = request;
    const deadline = new RequestDeadline(request, options);
    request.cancellation = deadline.cancellation;
    request.deadline = deadline;
    try {
      const response = next(request);
      deadline.start();
      return await response;
    } finally {
      request.cancellation = cancellation;
      request.deadline = undefined;
      deadline.end();
    }
  };
}

interface DeadlineOptions extends Pick<ClientContext, "server" | "clock"> {
  /** `requestMs`: the timeout of one attempt, within the total deadline. `totalMs`: the total deadline only. */
  readonly limit: "requestMs" | "totalMs";
}

/**
 * Cancels work for a request when its time is up, from `start()` to `end()`. Every attempt has one, so the error is created
 * only on expiry.
 */
export class RequestDeadline {
  /** The scope of the work. */
  readonly cancellation: CancelScope;
  readonly #options: DeadlineOptions;
  readonly #request: RequestContext;
  #isEnded = false;
  #disarm: (() => void) | undefined;

  constructor(request: RequestContext, options: DeadlineOptions) {
    this.cancellation = request.cancellation.child();
    this.#options = options;
    this.#request = request;
  }

  /** Called after the work has begun, so that setting the timer does not delay it. It may already be extended. */
  start(): void {
    if (!this.#isEnded && this.#disarm === undefined) this.#arm();
  }

  /** Restarts `requestMs`. */
  extend(): void {
    if (this.#isEnded) return;
    this.#disarm?.();
    this.#arm();
  }

  end(): void {
    this.#isEnded = true;
    this.#disarm?.();
    this.#disarm = undefined;
    this.cancellation.dispose();
  }

  #arm(): void {
    const { clock, limit } = this.#options;
    const remainingMs = Math.max(0, this.#request.deadlineAt - clock.now());
    const ms = limit === "requestMs" ? this.#request.requestMs : 0;
    if (ms !== 0 && ms < remainingMs) this.#disarm = clock.after(ms, () => this.#expire("requestMs"));
    else if (remainingMs !== Number.POSITIVE_INFINITY)
      this.#disarm = clock.after(remainingMs, () => this.#expire("totalMs"));
  }

  #expire(limit: "requestMs" | "totalMs"): void {
    this.cancellation.cancel(deadlineError(this.#request, limit, this.#options.server));
  }
}

function deadlineError(
  request: RequestContext,
  limit: "requestMs" | "totalMs",
  server: string,
): McpRuntimeError {
  const { tool, method, requestMs, wasSent } = request;
  const subject = tool === undefined ? method : `tool "${tool}"`;
  const within = limit === "requestMs" ? `${requestMs} ms` : "its total timeout";
  const limited = `within ${within} (timeouts.${limit})`;
  const text = wasSent
    ? `Server "${server}" did not respond to ${subject} ${limited}. It may still be running on the server.`
    : `Server "${server}" was not ready ${limited}, so ${subject} was not sent.`;
  return new McpRuntimeError("timeout", text, { server });
}
