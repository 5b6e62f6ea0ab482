import { randomUUID } from "node:crypto";
import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import type { JsonObject } from "../definitions/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CallToolOptions, checkTimeout, type RequestOptions } from "./call-tool.js";
import type { Breakers } from "./breakers.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLife } from "./client-life.js";
import { createTrace, type Exchange, type ExchangeTrace, type Next } from "./exchange.js";
import { createPipeline } from "./links.js";

/** Everybody, until a server has users with credentials of their own. */
export const SHARED_IDENTITY = "";

interface RequesterParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly life: ClientLife;
  readonly breakers: Breakers;
  readonly random: () => number;
}

export interface FullRequestOptions extends RequestOptions {
  readonly onProgress?: CallToolOptions["onProgress"];
  readonly headers?: CallToolOptions["headers"];
  readonly tool?: string;
  readonly requestId?: string;
  readonly totalMs?: number;
  readonly isIdempotent?: boolean;
  readonly trace?: ExchangeTrace;
}

/** Sends one request of an operation. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  options?: FullRequestOptions,
) => Promise<unknown>;

/** Takes requests from the caller's edge into the links. */
export class Requester {
  readonly #parts: RequesterParts;
  readonly #run: Next;

  constructor(parts: RequesterParts) {
    const { server, clock, events, life, breakers, random } = parts;
    this.#parts = parts;
    this.#run = createPipeline({
      server,
      clock,
      random,
      fallback: () => life.spec.fallback,
      retry: () => life.spec.retry,
      concurrentCalls: () => life.spec.limits.concurrentCalls,
      breakerOf: (identity) => breakers.of(identity),
      onRetry: ({ requestId, method, tool, trace }, { kind }, waitMs) =>
        events.emit("requestRetried", {
          requestId,
          server,
          method,
          tool,
          attempts: trace.attempts,
          kind,
          waitMs,
        }),
      onSessionLost: (identity, { generation, session }) =>
        events.emit("sessionLost", { identity, generation, id: session?.id }),
      onRequestEnded: (event) => events.emit("requestEnded", event),
      warn: (message) => events.warn(message),
    });
  }

  request(method: string, params: JsonObject, options: FullRequestOptions): Promise<unknown> {
    return this.operation(options, (send) => send(method, params, options));
  }

  /**
   * Something that takes one request or several. It belongs to the life it began in: closing the
   * client ends it as a whole, also between two requests.
   */
  async operation<T>(options: RequestOptions, work: (send: SendRequest) => Promise<T>): Promise<T> {
    const { server, life } = this.#parts;
    checkTimeout(server, options);
    const cancellation = Cancellation.fromSignal(options.signal);
    const { connect, leave } = life.enter(cancellation);
    try {
      return await work((method, params, details = {}) =>
        this.#send(method, params, details, options, { cancellation, connect }),
      );
    } finally {
      leave();
      cancellation.release();
    }
  }

  /** Phase 1 and 2, without a request. */
  async open(options: RequestOptions): Promise<void> {
    const { server, clock, life } = this.#parts;
    const ms = options.timeoutMs ?? life.spec.timeouts.totalMs;
    const expired = () =>
      new McpRuntimeError("timeout", `Server "${server}" did not open a session within ${ms} ms.`, {
        server,
      });
    checkTimeout(server, options);
    const cancellation = Cancellation.fromSignal(options.signal);
    const { connect, leave } = life.enter(cancellation);
    try {
      cancellation.throwIfCancelled();
      await withDeadline({ ms, clock, cancellation, expired }, async (limited) => {
        const connection = await limited.race(connect());
        await connection.seat(SHARED_IDENTITY).keeper.hold(limited);
      });
    } finally {
      leave();
      cancellation.release();
    }
  }

  async #send(
    method: string,
    params: JsonObject,
    details: FullRequestOptions,
    { signal, timeoutMs }: RequestOptions,
    { cancellation, connect }: Pick<Exchange, "cancellation" | "connect">,
  ): Promise<unknown> {
    cancellation.throwIfCancelled();
    const { clock, life } = this.#parts;
    const { timeouts } = life.spec;
    const totalMs = details.totalMs ?? timeouts.totalMs;
    return this.#run({
      requestId: details.requestId ?? randomUUID(),
      method,
      params,
      tool: details.tool,
      identity: SHARED_IDENTITY,
      requestMs: timeoutMs ?? timeouts.requestMs,
      totalMs,
      deadlineAt: totalMs === 0 ? Number.POSITIVE_INFINITY : clock.now() + totalMs,
      isIdempotent: details.isIdempotent ?? false,
      signal,
      cancellation,
      connect,
      headers: details.headers,
      onProgress: details.onProgress,
      trace: details.trace ?? createTrace(),
    });
  }
}
