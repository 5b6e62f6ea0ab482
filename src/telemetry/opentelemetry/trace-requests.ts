import type { TextMapPropagator, Context, TextMapSetter, Attributes, Span, Tracer } from "@opentelemetry/api";
import { CLIENT_INFO } from "../../config/message-transport.js";
import { configError } from "../../errors/mcp-runtime-error.js";
import { MAX_MESSAGE_LENGTH } from "../../errors/redaction.js";
import { truncate } from "../../errors/sanitize-text.js";
import { onMcpEvent, type McpEvents } from "../../manager/mcp-events.js";
import type { McpInstrumentationOptions, OtelApi } from "./instrumentation-options.js";
import { joinOrStart } from "./process-singleton.js";
import { ignoreRejection, isPromiseLike, omitUndefined } from "../../json/json.js";
import { outcomeAttributes, requestAttributes, runAttributes, sessionAttributes } from "./attributes.js";

/** The options that affect spans: callers that share a provider must agree on them. */
const SPAN_OPTIONS = ["propagator", "propagateTo", "recordContent", "parent"] as const;

/**
 * Creates spans for a tracer provider, once per provider. Returns the function that stops it.
 * Throws `invalid-config` if the provider is already traced with different options.
 */
export function traceRequests(api: OtelApi, options: McpInstrumentationOptions): () => void {
  const { tracerProvider = api.trace } = options;
  return joinOrStart({
    name: "tracing",
    getProvider: () => unwrapProvider(api, tracerProvider),
    options,
    start() {
      const recorder = new SpanRecorder(api, options);
      return [
        onMcpEvent("requestStarted", (event) => recorder.onRequestStarted(event)),
        onMcpEvent("requestRetried", (event) => recorder.onRequestRetried(event)),
        onMcpEvent("sessionLost", (event) => recorder.onSessionLost(event)),
        onMcpEvent("requestEnded", (event) => recorder.onRequestEnded(event)),
        onMcpEvent("handshakeStarted", (event) => recorder.onHandshakeStarted(event)),
        onMcpEvent("handshakeEnded", (event) => recorder.onHandshakeEnded(event)),
        () => recorder.close(),
      ];
    },
    assertCompatible: (runningOptions) => assertSameOptions(runningOptions, options),
  });
}

/** The global provider is wrapped in two proxies. */
function unwrapProvider(
  { trace, ProxyTracerProvider }: OtelApi,
  tracerProvider: NonNullable<McpInstrumentationOptions["tracerProvider"]>,
): object {
  const provider = tracerProvider === trace ? trace.getTracerProvider() : tracerProvider;
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}

type Propagator = Pick<TextMapPropagator<unknown>, "inject">;

function selectPropagator(api: OtelApi, { tracerProvider }: McpInstrumentationOptions): Propagator {
  const { propagation } = api;
  const hasGlobalPropagator = propagation.fields().length > 0;
  return hasGlobalPropagator || tracerProvider === undefined ? propagation : createW3cPropagator(api);
}

function assertSameOptions(
  runningOptions: McpInstrumentationOptions,
  options: McpInstrumentationOptions,
): void {
  const message =
    "differs from the instrumentMcp() call that already traces this tracerProvider; disable() that one first";
  const issues = SPAN_OPTIONS.filter((key) => runningOptions[key] !== options[key]).map((path) => ({
    path,
    message,
  }));
  if (issues.length > 0) throw configError("The options object", issues);
}

/** W3C Trace Context and Baggage, for a process with a tracer and without a propagator. */
function createW3cPropagator({ trace, propagation, isSpanContextValid }: OtelApi): Propagator {
  return {
    inject(context: Context, carrier: unknown, setter: TextMapSetter) {
      const set = (key: string, value: string) => setter.set(carrier, key, value);
      const span = trace.getSpanContext(context);
      if (span === undefined || !isSpanContextValid(span)) return;
      const flags = span.traceFlags.toString(16).padStart(2, "0");
      set("traceparent", `00-${span.traceId}-${span.spanId}-${flags}`);
      const state = span.traceState?.serialize() ?? "";
      if (state !== "") set("tracestate", state);
      const baggage = propagation.getBaggage(context)?.getAllEntries() ?? [];
      const items = baggage.map(([key, { value }]) => `${key}=${encodeURIComponent(value)}`);
      if (items.length > 0) set("baggage", items.join(","));
    },
  };
}

/** Longer arguments and results are truncated. */
const MAX_CONTENT_LENGTH = 32_768;

/** Creates a span for each request and each handshake. */
class SpanRecorder {
  readonly #api: OtelApi;
  readonly #options: McpInstrumentationOptions;
  readonly #tracer: Tracer;
  readonly #propagator: Propagator;
  /** By the token of the request or the handshake. */
  readonly #openSpans = new Map<object, Span>();

  constructor(api: OtelApi, options: McpInstrumentationOptions) {
    const { tracerProvider = api.trace, propagator = selectPropagator(api, options) } = options;
    this.#api = api;
    this.#options = options;
    this.#tracer = tracerProvider.getTracer(CLIENT_INFO.name, CLIENT_INFO.version);
    this.#propagator = propagator;
  }

  onRequestStarted(event: McpEvents["requestStarted"]): void {
    const { method, resource } = event;
    const target = event.tool ?? event.prompt;
    const name = target === undefined ? method : `${method} ${target}`;
    const attributes = {
      ...requestAttributes(event),
      ...omitUndefined({ "mcp.resource.uri": resource }),
      ...runAttributes(event.context()),
    };
    const span = this.#start(event, name, attributes, this.#options.parent?.(event));
    if (this.#shouldRecordContent(span))
      span.setAttributes(omitUndefined({ "gen_ai.tool.call.arguments": toContentText(event.args()) }));
  }

  onRequestRetried({ token, attempts, kind, waitMs }: McpEvents["requestRetried"]): void {
    this.#openSpans.get(token)?.addEvent("langchain_mcp.retry", {
      "langchain_mcp.attempts": attempts,
      "langchain_mcp.failure.kind": kind,
      "langchain_mcp.wait_ms": waitMs,
    });
  }

  onSessionLost({ token }: McpEvents["sessionLost"]): void {
    this.#openSpans.get(token)?.addEvent("langchain_mcp.session_lost");
  }

  onRequestEnded(event: McpEvents["requestEnded"]): void {
    const { attempts, kind, tool, token, wireId } = event;
    const span = this.#openSpans.get(token);
    if (span === undefined) return;
    const hasResult = tool !== undefined && kind === undefined && this.#shouldRecordContent(span);
    const attributes = omitUndefined({
      "jsonrpc.request.id": wireId === undefined ? undefined : String(wireId),
      "langchain_mcp.attempts": attempts,
      "gen_ai.tool.call.result": hasResult ? toContentText(event.result()) : undefined,
    });
    this.#end(event, span, attributes);
  }

  onHandshakeStarted(event: McpEvents["handshakeStarted"]): void {
    const { server } = event;
    this.#start(event, "initialize", requestAttributes({ server, method: "initialize" }));
  }

  onHandshakeEnded(event: McpEvents["handshakeEnded"]): void {
    const { token, method } = event;
    const span = this.#openSpans.get(token)?.updateName(method);
    if (span !== undefined) this.#end(event, span, { "mcp.method.name": method });
  }

  /** Ends all open spans. */
  close(): void {
    for (const span of this.#openSpans.values()) span.end();
    this.#openSpans.clear();
  }

  /** Starts a span, makes it active while the request runs, and sends its context to the server. */
  #start(
    event: McpEvents["requestStarted"] | McpEvents["handshakeStarted"],
    name: string,
    attributes: Attributes,
    requestedParent?: Context,
  ): Span {
    const { SpanKind, trace, context } = this.#api;
    const { propagateTo } = this.#options;
    const parent = requestedParent ?? context.active();
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    const spanContext = trace.setSpan(parent, span);
    this.#openSpans.set(event.token, span);
    event.wrap((run) => context.with(spanContext, run));
    if (propagateTo === undefined || isTrue(propagateTo(event.server)))
      this.#propagator.inject(spanContext, event, { set: ({ addMeta }, key, value) => addMeta(key, value) });
    return span;
  }

  #end(
    event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"],
    span: Span,
    extraAttributes: Attributes,
  ): void {
    const { token, kind, error, sessionId } = event;
    this.#openSpans.delete(token);
    span.setAttributes({
      ...outcomeAttributes(event),
      ...sessionAttributes(sessionId),
      ...extraAttributes,
    });
    if (kind !== undefined) {
      const { ERROR: code } = this.#api.SpanStatusCode;
      span.setStatus(
        error === undefined ? { code } : { code, message: truncate(error.message, MAX_MESSAGE_LENGTH) },
      );
    }
    span.end();
  }

  #shouldRecordContent(span: Span): boolean {
    return this.#options.recordContent === true && span.isRecording();
  }
}

function toContentText(content: unknown): string | undefined {
  return content === undefined ? undefined : JSON.stringify(content).slice(0, MAX_CONTENT_LENGTH);
}

/** A promise is truthy: an asynchronous function would send the context to every server. */
function isTrue(decision: unknown): boolean {
  if (!isPromiseLike(decision)) return Boolean(decision);
  ignoreRejection(decision);
  return false;
}
