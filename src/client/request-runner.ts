import { CancelScope } from "../async/cancel-scope.js";
import { type Clock, withDeadline } from "../async/clock.js";
import { Semaphore } from "../async/semaphore.js";
import type { CallContext } from "../config/call-context.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { JsonObject } from "../json/json.js";
import type { SessionSlot, OpenSessionHandle } from "../session/session-pool.js";
import { type CallToolOptions, assertRequestOptions, type RequestOptions } from "./call-options.js";
import type { ClientEvents } from "./client-events.js";
import type { ClientLifecycle } from "./client-lifecycle.js";
import { createPipeline } from "./pipeline.js";
import type { CircuitBreakers } from "./policies/circuit-breakers.js";
import type { RetryBudgets } from "./policies/retry-budget.js";
import { type ClientRequest, RequestContext, RequestTrace, type Handler } from "./request-context.js";
import type { RequestEventEmitter } from "./request-event-emitter.js";
import { resolveIdentity, SHARED_IDENTITY, toCallContext } from "./resolve-identity.js";

const SHARED_CALLER = { identity: SHARED_IDENTITY, context: undefined } as const;

interface RequestRunnerDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly lifecycle: ClientLifecycle;
  readonly breakers: CircuitBreakers;
  readonly retryBudgets: RetryBudgets;
  readonly redactor: Redactor;
  readonly random: () => number;
  readonly requestEvents: RequestEventEmitter;
}

/** All options of a request, including those that only this library sets. */
export interface InternalRequestOptions extends RequestOptions {
  readonly onProgress?: CallToolOptions["onProgress"];
  readonly headers?: CallToolOptions["headers"];
  readonly deferInput?: boolean;
  readonly tool?: string;
  /** Passed to `identity`, `headers` and `auth`. @default "call" with a tool, otherwise "discovery" */
  readonly purpose?: CallContext["purpose"];
  readonly requestId?: string | undefined;
  /** The tool call id from the model. */
  readonly toolCallId?: string | undefined;
  readonly totalMs?: number;
  readonly isIdempotent?: boolean;
  /** The server capability that the request requires. */
  readonly capability?: string | undefined;
  readonly trace?: RequestTrace;
  readonly loggableArgs?: CallToolOptions["loggableArgs"];
  readonly secrets?: CallToolOptions["secrets"];
}

/** Sends one request of an operation. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  options?: InternalRequestOptions,
) => Promise<unknown>;

/** A pipeline and the settings it was created with. */
interface Pipeline {
  readonly config: ServerConfig;
  readonly run: Handler;
}

/** Shared by the requests of one operation. */
interface OperationScope extends Pick<ClientRequest, "connect"> {
  readonly cancellation: CancelScope;
}

/** Resolves the identity and settings of requests and runs them through the pipeline. */
export class RequestRunner {
  readonly #deps: RequestRunnerDependencies;
  #pipeline: Pipeline | undefined;
  #semaphore: Semaphore | undefined;

  constructor(deps: RequestRunnerDependencies) {
    this.#deps = deps;
  }

  request(method: string, params: JsonObject, options: InternalRequestOptions): Promise<unknown> {
    return this.runOperation(options, (send) => send(method, params, options));
  }

  /**
   * Runs an operation of one or more requests. It belongs to the client epoch it began in: `close()` cancels it as a
   * whole, also between two requests.
   */
  async runOperation<T>(options: RequestOptions, work: (send: SendRequest) => Promise<T>): Promise<T> {
    const { server, lifecycle } = this.#deps;
    assertRequestOptions(server, options);
    const cancellation = CancelScope.fromSignal(options.signal);
    const { connect, release } = lifecycle.beginCall(cancellation);
    try {
      return await work((method, params, details = {}) =>
        this.#send(method, params, details, options, { cancellation, connect }),
      );
    } finally {
      release();
      cancellation.dispose();
    }
  }

  /** Connects and initializes a session without sending a request. */
  openSession(options: RequestOptions): Promise<void> {
    return this.withSlot(options, async ({ currentSession }, cancellation) => {
      await currentSession.acquire(cancellation);
    });
  }

  /** Connects and runs `work` with the session slot of an identity, within the total timeout. */
  async withSlot(
    options: RequestOptions,
    work: (slot: SessionSlot, cancellation: CancelScope) => Promise<void>,
  ): Promise<void> {
    const { server, clock, lifecycle } = this.#deps;
    assertRequestOptions(server, options);
    const ms = options.timeoutMs ?? lifecycle.config.timeouts.totalMs;
    const createError = () =>
      new McpRuntimeError("timeout", `Server "${server}" did not open a session within ${ms} ms.`, {
        server,
      });
    const cancellation = CancelScope.fromSignal(options.signal);
    const { connect, release } = lifecycle.beginCall(cancellation);
    try {
      cancellation.throwIfCancelled();
      const { identity, context } = this.#resolveIdentity(options, {});
      await withDeadline({ ms, clock, cancellation, createError }, async (limited) => {
        const { pool } = await limited.race(Promise.resolve(connect()));
        await pool.withSlot(identity, context, (slot) => work(slot, limited));
      });
    } finally {
      release();
      cancellation.dispose();
    }
  }

  #send(
    method: string,
    params: JsonObject,
    details: InternalRequestOptions,
    options: RequestOptions,
    { cancellation, connect }: OperationScope,
  ): Promise<unknown> {
    cancellation.throwIfCancelled();
    const { clock, lifecycle, redactor } = this.#deps;
    const { config } = lifecycle;
    for (const secret of details.secrets ?? []) redactor.addRotating(secret, jsonEscaped);
    const { timeouts } = config;
    const { signal, timeoutMs } = options;
    const { identity, context } = this.#resolveIdentity(options, details);
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
      deferInput: details.deferInput ?? false,
      callerContext: options.context,
      loggableArgs: details.loggableArgs,
      trace: details.trace ?? new RequestTrace(),
    };
    const { onProgress } = details;
    return this.#pipelineFor(config)(new RequestContext({ request, cancellation, onProgress }));
  }

  /** Recreated when a dynamic server resolves to other settings. */
  #pipelineFor(config: ServerConfig): Handler {
    if (this.#pipeline?.config !== config) this.#pipeline = { config, run: this.#createPipeline(config) };
    return this.#pipeline.run;
  }

  #createPipeline(config: ServerConfig): Handler {
    const {
      server,
      clock,
      events,
      lifecycle,
      breakers,
      random,
      requestEvents,
      retryBudgets: budgets,
    } = this.#deps;
    const deps = {
      server,
      clock,
      random,
      requestEvents,
      budgets,
      retrySettings: () => lifecycle.config.retry,
      semaphoreFor: (limit: number) => (this.#semaphore ??= new Semaphore(limit)),
      getBreaker: (identity: string) => breakers.get(identity),
      onRetry: (request: ClientRequest, failure: McpRuntimeError, waitMs: number) =>
        requestEvents.onRetry(request, failure, waitMs),
      onSessionLost: (request: ClientRequest, handle: OpenSessionHandle) =>
        lifecycle.sessionEvents.lost(request, handle),
      warn: (message: string) => events.warn(message),
    };
    return createPipeline(deps, config);
  }

  identityOf(options: RequestOptions, details: Pick<InternalRequestOptions, "purpose"> = {}): string {
    assertRequestOptions(this.#deps.server, options);
    return this.#resolveIdentity(options, details).identity;
  }

  #resolveIdentity(
    { context: caller, signal }: RequestOptions,
    { tool, toolCallId, purpose }: Pick<InternalRequestOptions, "tool" | "toolCallId" | "purpose">,
  ): { readonly identity: string; readonly context: CallContext | undefined } {
    const { server, lifecycle, redactor } = this.#deps;
    const { identity } = lifecycle.config;
    if (identity === undefined) return SHARED_CALLER;
    const context = toCallContext(caller, {
      server,
      tool,
      toolCallId,
      signal,
      purpose: purpose ?? (tool === undefined ? "discovery" : "call"),
    });
    return { identity: resolveIdentity(identity, context, redactor), context };
  }
}

/** A server may echo a secret in its JSON-escaped form. */
function jsonEscaped(secret: string): readonly string[] {
  return [JSON.stringify(secret).slice(1, -1)];
}
