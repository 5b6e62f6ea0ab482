import { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { withDeadline } from "../async/deadline.js";
import { Semaphore } from "../async/semaphore.js";
import type { JsonObject } from "../json/json.js";
import type { CallContext } from "../config/call-context.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { SessionSlot } from "../session/session-pool.js";
import type { OpenSessionHandle } from "../session/current-session.js";
import { type CallToolOptions, checkOptions, type RequestOptions } from "./call-options.js";
import type { Breakers } from "./policies/circuit-breakers.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLife } from "./client-lifecycle.js";
import { type ClientRequest, RequestContext, RequestTrace, type Handler } from "./request-context.js";
import { identify, SHARED_IDENTITY, toCallContext } from "./resolve-identity.js";
import { createPipeline } from "./pipeline.js";
import type { RequestWatch } from "./request-event-emitter.js";
import type { RetryTokensByIdentity } from "./policies/retry-budgets.js";

const EVERYBODY = { identity: SHARED_IDENTITY, context: undefined } as const;

interface RequesterParts {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly life: ClientLife;
  readonly breakers: Breakers;
  readonly retryTokens: RetryTokensByIdentity;
  readonly redactor: Redactor;
  readonly random: () => number;
  readonly watch: RequestWatch;
}

export interface FullRequestOptions extends RequestOptions {
  readonly onProgress?: CallToolOptions["onProgress"];
  readonly headers?: CallToolOptions["headers"];
  readonly holdsInput?: boolean;
  readonly tool?: string;
  /** Whether it is about what the server offers, or uses it; by whether there is a tool, when left out. */
  readonly purpose?: CallContext["purpose"];
  readonly requestId?: string | undefined;
  /** The model's id of the call. */
  readonly toolCallId?: string | undefined;
  readonly totalMs?: number;
  readonly isIdempotent?: boolean;
  /** What the server has to offer for it. */
  readonly capability?: string | undefined;
  readonly trace?: RequestTrace;
  readonly recordedArgs?: CallToolOptions["recordedArgs"];
  readonly secrets?: CallToolOptions["secrets"];
}

/** Sends one request of an operation. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  options?: FullRequestOptions,
) => Promise<unknown>;

/** What surrounds the requests of a server, with these settings. */
interface Pipeline {
  readonly config: ServerConfig;
  readonly run: Handler;
}

/** What the requests of one operation share. */
interface Way extends Pick<ClientRequest, "connect"> {
  readonly cancellation: CancelScope;
}

/** Takes requests from the caller's edge into the links. */
export class Requester {
  readonly #parts: RequesterParts;
  #pipeline: Pipeline | undefined;
  #slots: Semaphore | undefined;

  constructor(parts: RequesterParts) {
    this.#parts = parts;
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
    checkOptions(server, options);
    const cancellation = CancelScope.fromSignal(options.signal);
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
  open(options: RequestOptions): Promise<void> {
    return this.atSeat(options, async ({ keeper }, cancellation) => {
      await keeper.hold(cancellation);
    });
  }

  /** Phase 1, and then something for one identity, within the total time. */
  async atSeat(
    options: RequestOptions,
    work: (slot: SessionSlot, cancellation: CancelScope) => Promise<void>,
  ): Promise<void> {
    const { server, clock, life } = this.#parts;
    checkOptions(server, options);
    const ms = options.timeoutMs ?? life.config.timeouts.totalMs;
    const expired = () =>
      new McpRuntimeError("timeout", `Server "${server}" did not open a session within ${ms} ms.`, {
        server,
      });
    const cancellation = CancelScope.fromSignal(options.signal);
    const { connect, leave } = life.enter(cancellation);
    try {
      cancellation.throwIfCancelled();
      const { identity, context } = this.#whoAsks(options, {});
      await withDeadline({ ms, clock, cancellation, expired }, async (limited) => {
        const { pool } = await limited.race(Promise.resolve(connect()));
        await pool.use(identity, context, (slot) => work(slot, limited));
      });
    } finally {
      leave();
      cancellation.release();
    }
  }

  #send(
    method: string,
    params: JsonObject,
    details: FullRequestOptions,
    options: RequestOptions,
    { cancellation, connect }: Way,
  ): Promise<unknown> {
    cancellation.throwIfCancelled();
    const { clock, life, redactor } = this.#parts;
    const { config } = life;
    for (const secret of details.secrets ?? []) redactor.addPassing(secret, inJson);
    const { timeouts } = config;
    const { signal, timeoutMs } = options;
    const { identity, context } = this.#whoAsks(options, details);
    const request = {
      requestId: details.requestId,
      method,
      params,
      tool: details.tool,
      capability: details.capability,
      identity,
      context,
      startedAt: clock.now(),
      requestMs: timeoutMs ?? timeouts.requestMs,
      totalMs: details.totalMs ?? timeouts.totalMs,
      isIdempotent: details.isIdempotent ?? false,
      signal,
      connect,
      headers: details.headers,
      holdsInput: details.holdsInput ?? false,
      caller: options.context,
      recordedArgs: details.recordedArgs,
      trace: details.trace ?? new RequestTrace(),
    };
    const { onProgress } = details;
    return this.#runFor(config)(new RequestContext({ request, cancellation, onProgress }));
  }

  /** Made again where a server that is looked up has other settings than before. */
  #runFor(config: ServerConfig): Handler {
    if (this.#pipeline?.config !== config) this.#pipeline = { config, run: this.#createPipeline(config) };
    return this.#pipeline.run;
  }

  #createPipeline(config: ServerConfig): Handler {
    const { server, clock, events, life, breakers, random, watch, retryTokens: tokens } = this.#parts;
    const parts = {
      server,
      clock,
      random,
      watch,
      tokens,
      retry: () => life.config.retry,
      slotsFor: (limit: number) => (this.#slots ??= new Semaphore(limit)),
      breakerOf: (identity: string) => breakers.of(identity),
      onRetry: (request: ClientRequest, failure: McpRuntimeError, waitMs: number) =>
        watch.retried(request, failure, waitMs),
      onSessionLost: (request: ClientRequest, held: OpenSessionHandle) => life.watch.forgotten(request, held),
      warn: (message: string) => events.warn(message),
    };
    return createPipeline(parts, config);
  }

  identityOf(options: RequestOptions, details: Pick<FullRequestOptions, "purpose"> = {}): string {
    checkOptions(this.#parts.server, options);
    return this.#whoAsks(options, details).identity;
  }

  #whoAsks(
    { context: given, signal }: RequestOptions,
    { tool, toolCallId, purpose }: Pick<FullRequestOptions, "tool" | "toolCallId" | "purpose">,
  ): { readonly identity: string; readonly context: CallContext | undefined } {
    const { server, life, redactor } = this.#parts;
    const { identity } = life.config;
    if (identity === undefined) return EVERYBODY;
    const context = toCallContext(given, {
      server,
      tool,
      toolCallId,
      signal,
      purpose: purpose ?? (tool === undefined ? "discovery" : "call"),
    });
    return { identity: identify(identity, context, redactor), context };
  }
}

/** A server may repeat the JSON that it was sent. */
function inJson(secret: string): readonly string[] {
  return [JSON.stringify(secret).slice(1, -1)];
}
