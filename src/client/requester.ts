import { randomUUID } from "node:crypto";
import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import type { JsonObject } from "../definitions/json.js";
import { type CallToolOptions, checkTimeout, type RequestOptions } from "./call-tool.js";
import { toCallerError } from "./caller-error.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLife } from "./client-life.js";
import type { ExchangeTrace, Next } from "./exchange.js";
import { createPipeline } from "./links.js";

/** Everybody, until a server has users with credentials of their own. */
export const SHARED_IDENTITY = "";

interface RequesterParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly life: ClientLife;
}

export interface FullRequestOptions extends RequestOptions {
  readonly onProgress?: CallToolOptions["onProgress"];
  readonly headers?: CallToolOptions["headers"];
  readonly tool?: string;
  readonly requestId?: string;
  readonly totalMs?: number;
  readonly trace?: ExchangeTrace;
}

/** Takes a request from the caller's edge into the links, and its end back to the caller. */
export class Requester {
  readonly #parts: RequesterParts;
  readonly #run: Next;

  constructor(parts: RequesterParts) {
    const { server, clock, events, life } = parts;
    this.#parts = parts;
    this.#run = createPipeline({
      server,
      clock,
      connect: () => life.connect(),
      onSessionLost: (identity, { generation, session }) =>
        events.emit("sessionLost", { identity, generation, id: session?.id }),
      onRequestEnded: (event) => events.emit("requestEnded", event),
      warn: (message) => events.warn(message),
    });
  }

  async request(method: string, params: JsonObject, options: FullRequestOptions): Promise<unknown> {
    const { server, life } = this.#parts;
    checkTimeout(server, options);
    const { timeouts } = life.spec;
    const cancellation = Cancellation.fromSignal(options.signal);
    const leave = life.enter(cancellation);
    try {
      cancellation.throwIfCancelled();
      return await this.#run({
        requestId: options.requestId ?? randomUUID(),
        method,
        params,
        tool: options.tool,
        identity: SHARED_IDENTITY,
        requestMs: options.timeoutMs ?? timeouts.requestMs,
        totalMs: options.totalMs ?? timeouts.totalMs,
        cancellation,
        headers: options.headers,
        onProgress: options.onProgress,
        trace: options.trace ?? { attempts: 0 },
      });
    } catch (error) {
      throw toCallerError(error, options.signal, server);
    } finally {
      leave();
      cancellation.release();
    }
  }

  /** Phase 1 and 2, without a request. */
  async open({ signal }: RequestOptions): Promise<void> {
    const { server, life } = this.#parts;
    const cancellation = Cancellation.fromSignal(signal);
    const leave = life.enter(cancellation);
    try {
      cancellation.throwIfCancelled();
      await life.open(SHARED_IDENTITY, cancellation);
    } catch (error) {
      throw toCallerError(error, signal, server);
    } finally {
      leave();
      cancellation.release();
    }
  }
}
