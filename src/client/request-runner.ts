import { CancelScope } from "../async/cancel-scope.js";
import { withDeadline } from "../async/clock.js";
import { Semaphore } from "../async/semaphore.js";
import type { CallContext } from "../config/call-context.js";
import { collectHeaderSecrets, collectUrlForms } from "../config/collect-secrets.js";
import type { ServerConfig } from "../config/server-config.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor, SecretLease } from "../errors/redaction.js";
import { printValue } from "../errors/sanitize-text.js";
import { isPromiseLike, type JsonObject } from "../json/json.js";
import type { Connection } from "../session/connection.js";
import type { SessionSlot } from "../session/session-pool.js";
import { SHARED_IDENTITY } from "../session/session.js";
import type { Progress } from "../transports/transport.js";
import {
  assertRequestOptions,
  type CallToolOptions,
  IDENTITY_OPTIONS,
  type RequestOptions,
} from "./call-options.js";
import type { ClientContext, ClientEvents } from "./client-events.js";
import type { ClientLifecycle } from "./client-lifecycle.js";
import type { PipelineDependencies } from "./middleware/pipeline-dependencies.js";
import { createPipeline } from "./pipeline.js";
import { type Handler, RequestContext } from "./request-context.js";
import { resolveIdentity, toCallContext } from "./resolve-identity.js";

/** The transports that send headers only with the connection, or never. */
const KINDS_WITHOUT_HEADERS: ReadonlySet<string> = new Set(["stdio", "websocket", "lambda"]);

/** Failures of a handshake that do not show that the server is back. */
const UNREACHABLE_KINDS: ReadonlySet<FailureKind> = new Set([
  "not-sent",
  "connection-lost",
  "timeout",
  "unavailable",
  "closed",
]);

const SHARED_CALLER = { identity: SHARED_IDENTITY, context: undefined } as const;

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
  /** @default true */
  readonly retriesTimeouts?: boolean;
  /** No caller waits for the request, so it must not start a login. */
  readonly isBackground?: boolean;
  /** The server capability that the request requires. */
  readonly capability?: string | undefined;
  /** Called with the request before it is run. */
  readonly onCreated?: (request: RequestContext) => void;
  readonly loggableArgs?: CallToolOptions["loggableArgs"];
  readonly secrets?: CallToolOptions["secrets"];
}

/** A call on behalf of the user, not discovery. */
export const IDEMPOTENT_CALL = { isIdempotent: true, purpose: "call" } as const;

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

/** Resolves the identity and settings of requests and runs them through the pipeline. */
export class RequestRunner {
  readonly #deps: PipelineDependencies;
  #pipeline: Pipeline | undefined;
  #semaphore: Semaphore | undefined;
  #hasWarnedOfHeaders = false;

  constructor(deps: PipelineDependencies) {
    this.#deps = deps;
  }

  /** Runs one request, with options that are already validated, and returns it with its result. */
  async request(
    method: string,
    params: JsonObject,
    options: InternalRequestOptions,
  ): Promise<RequestContext> {
    const cancellation = CancelScope.fromSignal(options.signal);
    const { connect, release } = this.#deps.lifecycle.beginCall(cancellation);
    try {
      cancellation.throwIfCancelled();
      const request = this.#createRequest(method, params, options, options, cancellation, connect);
      request.result = await this.#currentPipeline()(request);
      return request;
    } finally {
      release();
      cancellation.dispose();
    }
  }

  /**
   * Runs an operation of one or more requests. It belongs to the client epoch it began in: `close()` cancels it as a
   * whole, also between two requests. `work` sends one request after another; an error about a response that it throws
   * gets the attempts of the last one.
   */
  async runOperation<T>(
    options: RequestOptions,
    work: (send: SendRequest, cancellation: CancelScope) => Promise<T>,
  ): Promise<T> {
    assertRequestOptions(this.#deps.server, options);
    const cancellation = CancelScope.fromSignal(options.signal);
    let last: RequestContext | undefined;
    return this.#runInEpoch(cancellation, (connect) =>
      work(async (method, params, details = {}) => {
        cancellation.throwIfCancelled();
        last = this.#createRequest(method, params, details, options, cancellation, connect);
        return this.#currentPipeline()(last);
      }, cancellation),
    ).catch((error: unknown) => {
      if (!(error instanceof McpRuntimeError) || last === undefined || error.attempts > 0) throw error;
      throw error.with({ server: this.#deps.server, attempts: last.attempts });
    });
  }

  /** Runs work that `close()` cancels. */
  async #runInEpoch<T>(
    cancellation: CancelScope,
    work: (connect: RequestContext["connect"]) => Promise<T>,
  ): Promise<T> {
    const { connect, release } = this.#deps.lifecycle.beginCall(cancellation);
    try {
      return await work(connect);
    } finally {
      release();
      cancellation.dispose();
    }
  }

  /** Connects and runs `work` with the session slot of an identity, within the total timeout. */
  async withSlot(
    options: RequestOptions,
    work: (slot: SessionSlot, cancellation: CancelScope, connection: Connection) => Promise<void>,
  ): Promise<void> {
    const { server, clock, lifecycle } = this.#deps;
    assertRequestOptions(server, options);
    const ms = options.timeoutMs ?? lifecycle.config.timeouts.totalMs;
    const createError = () =>
      new McpRuntimeError("timeout", `Server "${server}" did not open a session within ${ms} ms.`, {
        server,
      });
    const cancellation = CancelScope.fromSignal(options.signal);
    await this.#runInEpoch(cancellation, (connect) => {
      cancellation.throwIfCancelled();
      const { identity, context } = this.#resolveIdentity(options, {});
      return withDeadline({ ms, clock, cancellation, createError }, async (limited) => {
        const connection = await limited.race(Promise.resolve(connect()));
        await connection.pool.withSlot(identity, context, (slot) => work(slot, limited, connection));
      });
    });
  }

  /** Notifies the server on the open sessions of a caller, or of all, that the roots have changed. */
  async sendRootsListChanged(options: RequestOptions): Promise<void> {
    const { server, clock, lifecycle } = this.#deps;
    assertRequestOptions(server, options);
    const ms = options.timeoutMs ?? lifecycle.config.timeouts.requestMs;
    const text = `Server "${server}" was not notified on all of its sessions that its roots have changed: that took longer than ${ms} ms.`;
    const createError = () => new McpRuntimeError("timeout", text, { server });
    const cancellation = CancelScope.fromSignal(options.signal);
    await this.#runInEpoch(cancellation, async () => {
      cancellation.throwIfCancelled();
      const identity =
        options.context === undefined ? undefined : this.#resolveIdentity(options, {}).identity;
      await withDeadline({ ms, clock, cancellation, createError }, (limited) =>
        limited.race(lifecycle.sendRootsListChanged(identity)),
      );
    });
  }

  /** Tries a handshake without a call, with the credentials that an identity has. Never rejects. */
  async isReachable(identity: string, scope: CancelScope): Promise<boolean> {
    const cancellation = scope.child();
    try {
      await this.#runInEpoch(cancellation, async (connect) => {
        const connection = await cancellation.race(Promise.resolve(connect()));
        await connection.probe(identity, cancellation);
      });
      return true;
    } catch (error) {
      return error instanceof McpRuntimeError && !UNREACHABLE_KINDS.has(error.kind);
    }
  }

  /** Warns once: a hook may set headers for the servers of all transports. */
  #warnOfUnsentHeaders(headers: object): void {
    const { events, lifecycle } = this.#deps;
    const { kind } = lifecycle.config.address;
    if (!KINDS_WITHOUT_HEADERS.has(kind) || Object.keys(headers).length === 0) return;
    this.#hasWarnedOfHeaders = true;
    events.warn(
      `The headers of a call were not sent: a server of type ${kind} receives no headers with a call.`,
    );
  }

  #createRequest(
    method: string,
    params: JsonObject,
    details: InternalRequestOptions,
    { signal, timeoutMs, context: callerContext }: RequestOptions,
    cancellation: CancelScope,
    connect: RequestContext["connect"],
  ): RequestContext {
    const { clock, lifecycle, redactor, events } = this.#deps;
    const { timeouts } = lifecycle.config;
    const { identity, context } = this.#resolveIdentity({ signal, context: callerContext }, details);
    const { onProgress, headers } = details;
    if (headers !== undefined && !this.#hasWarnedOfHeaders) this.#warnOfUnsentHeaders(headers);
    const request = new RequestContext({
      requestId: details.requestId,
      method,
      params,
      tool: details.tool,
      capability: details.capability,
      identity,
      context,
      startedAt: clock.now(),
      requestMs: details.timeoutMs ?? timeoutMs ?? timeouts.requestMs,
      totalMs: details.totalMs ?? timeouts.totalMs,
      isIdempotent: details.isIdempotent ?? false,
      retriesTimeouts: details.retriesTimeouts ?? true,
      isBackground: details.isBackground ?? false,
      signal,
      cancellation,
      connect,
      headers,
      deferInput: details.deferInput ?? false,
      callerContext,
      loggableArgs: details.loggableArgs,
      onProgress: onProgress === undefined ? undefined : toSafeListener(onProgress, events, redactor),
      secretLeases: holdSecrets(details, redactor),
    });
    details.onCreated?.(request);
    return request;
  }

  /** Created again when a dynamic server resolves to other settings. */
  #currentPipeline(): Handler {
    const { config } = this.#deps.lifecycle;
    if (this.#pipeline?.config !== config) {
      const { concurrentCalls } = config.limits;
      if (concurrentCalls !== undefined) this.#semaphore ??= new Semaphore(concurrentCalls);
      const semaphore = concurrentCalls === undefined ? undefined : this.#semaphore;
      this.#pipeline = { config, run: createPipeline(this.#deps, config, semaphore) };
    }
    return this.#pipeline.run;
  }

  identityOf(options: RequestOptions, details: Pick<InternalRequestOptions, "purpose"> = {}): string {
    assertRequestOptions(this.#deps.server, options, IDENTITY_OPTIONS);
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

/** The secrets and the headers of a call are redacted at least until it has ended. */
function holdSecrets(
  { secrets, headers }: InternalRequestOptions,
  redactor: Redactor,
): readonly (SecretLease | undefined)[] | undefined {
  if (secrets === undefined && headers === undefined) return undefined;
  return [
    ...(secrets ?? []).map((secret) => redactor.addRotating(secret, collectUrlForms)),
    ...Object.values(headers ?? {}).map((value) => redactor.addRotating(value, collectHeaderSecrets)),
  ];
}

/** The dependencies of the parts of a client that send requests. */
export interface RequestDependencies extends ClientContext {
  readonly lifecycle: ClientLifecycle;
  readonly runner: RequestRunner;
}

/**
 * Redacts the message of progress, which the server wrote. A listener that throws or rejects causes a warning; it does
 * not fail the call.
 */
export function toSafeListener(
  listener: NonNullable<CallToolOptions["onProgress"]>,
  events: ClientEvents,
  redactor: Redactor,
): (progress: Progress) => void {
  const warnFailed = (error: unknown) => events.warn(`onProgress failed: ${printValue(error)}`);
  return (progress) => {
    try {
      const { message } = progress;
      const returned: unknown = listener(
        message === undefined ? progress : { ...progress, message: redactor.sanitize(message) },
      );
      if (isPromiseLike(returned)) void Promise.resolve(returned).catch(warnFailed);
    } catch (error) {
      warnFailed(error);
    }
  };
}
