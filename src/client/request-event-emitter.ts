import { randomUUID } from "node:crypto";
import { serverEndpoint, type ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { redactUri } from "../errors/redaction.js";
import { printValue } from "../errors/sanitize-text.js";
import { ignoreRejection, isPlainObject, isPromiseLike, type JsonObject } from "../json/json.js";
import { type ClientContext, redactedSessionId, type RequestWrapper } from "./client-events.js";
import type { Handler, RequestContext } from "./request-context.js";
import { toPlainCallerContext } from "./resolve-identity.js";

/** Longer names of tools and prompts are truncated: a model can invent a name of any length. */
const MAX_NAME_LENGTH = 1_024;

export interface EventDependencies extends ClientContext {
  readonly config: () => Pick<ServerConfig, "address">;
}

/** Counts requests and emits their events. */
export class RequestEventEmitter {
  readonly #deps: EventDependencies;

  constructor(deps: EventDependencies) {
    this.#deps = deps;
  }

  get hasStartListeners(): boolean {
    return this.#deps.events.hasListeners("requestStarted");
  }

  onRetry(request: RequestContext, { kind }: McpRuntimeError, waitMs: number): void {
    const { metrics, events } = this.#deps;
    metrics.onRequestRetried(request);
    const { attempts } = request;
    events.emit("requestRetried", { attempts, kind, waitMs, ...this.#commonFields(request) });
  }

  /** `outcome` is the result or the error. */
  onEnd(request: RequestContext, outcome: unknown): void {
    const { metrics, events } = this.#deps;
    metrics.onRequestEnded(request);
    if (events.hasListeners("requestEnded")) this.#emitEnd(request, outcome);
  }

  #emitEnd(request: RequestContext, outcome: unknown): void {
    const { events, redactor, config } = this.#deps;
    const { latencyMs, attempts, kind, session, wireId } = request;
    events.emit("requestEnded", {
      latencyMs,
      attempts,
      kind,
      error: outcome instanceof McpRuntimeError ? outcome : undefined,
      endpoint: serverEndpoint(config()),
      sessionId: redactedSessionId(session, redactor),
      protocolVersion: session?.metadata?.protocolVersion,
      wireId,
      result: () => this.#loggableResult(request, outcome),
      ...this.#commonFields(request),
    });
  }

  /** Runs a request with the `_meta` entries and wrappers that `requestStarted` listeners add. */
  runObserved(request: RequestContext, next: Handler): Promise<unknown> {
    const { events } = this.#deps;
    const meta = new Map<string, string>();
    const wrappers: RequestWrapper[] = [];
    events.emit("requestStarted", {
      identity: request.identity,
      args: () => this.#loggableArgs(request),
      context: () =>
        request.callerContext === undefined ? undefined : toPlainCallerContext(request.callerContext),
      addMeta: (name, value) => meta.set(name, value),
      wrap: (wrapper) => wrappers.push(wrapper),
      ...this.#commonFields(request),
    });
    if (meta.size > 0) request.params = withMeta(request.params, Object.fromEntries(meta));
    return wrapRequest(
      wrappers,
      () => next(request),
      (error) => events.warn(`A request wrapper of a listener failed: ${printValue(error)}`),
    );
  }

  /** Spread last into an event: in Node 20, adding properties after a spread takes 9 µs instead of 0.2 µs. */
  #commonFields(request: RequestContext) {
    const { server, redactor } = this.#deps;
    const { method, params, tool } = request;
    request.token ??= {};
    request.requestId ??= randomUUID();
    const { token, requestId } = request;
    const { name, uri } = params;
    const loggableTool = tool === undefined ? undefined : redactor.sanitize(tool, MAX_NAME_LENGTH);
    const isPrompt = method === "prompts/get" && typeof name === "string";
    const prompt = isPrompt ? redactor.sanitize(name, MAX_NAME_LENGTH) : undefined;
    const resource = typeof uri === "string" ? redactUri(redactor.redact(uri)) : undefined;
    return { token, requestId, server, method, tool: loggableTool, prompt, resource };
  }

  /** A listener may read it later: until then the request keeps its secrets redacted. */
  #loggableResult({ kind }: RequestContext, outcome: unknown): unknown {
    const isResult = kind === undefined || kind === "tool-error";
    return isResult ? this.#deps.redactor.redactJson(outcome) : undefined;
  }

  #loggableArgs({ params, tool, loggableArgs }: RequestContext): JsonObject | undefined {
    if (tool === undefined) return undefined;
    const args = this.#deps.redactor.redactJson(loggableArgs?.() ?? params["arguments"]);
    return isPlainObject(args) ? args : undefined;
  }
}

/** Entries of the caller take precedence. */
function withMeta(params: JsonObject, meta: JsonObject): JsonObject {
  const callerMeta = params["_meta"];
  return { ...params, _meta: { ...meta, ...(isPlainObject(callerMeta) ? callerMeta : {}) } };
}

/**
 * Runs `run` inside the wrappers of listeners, the last one outermost. It runs exactly once and its outcome is kept,
 * even if a wrapper throws, does not call `run`, or calls it twice.
 */
export function wrapRequest<T>(
  wrappers: readonly RequestWrapper[],
  run: () => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  return wrappers.reduce<() => Promise<T>>(
    (inner, wrapper) => () => {
      let running: Promise<T> | undefined;
      const once = () => (running ??= inner());
      try {
        const returned: unknown = wrapper(() => void once());
        if (isPromiseLike(returned)) {
          ignoreRejection(returned);
          onError("it returned a promise, but has to call run synchronously");
        }
      } catch (error) {
        onError(error);
      }
      return once();
    },
    run,
  )();
}
