import type { TextMapPropagator, Context, TextMapSetter } from "@opentelemetry/api";
import { CLIENT_INFO } from "../../config/client-info.js";
import { configError } from "../../errors/config-error.js";
import { onMcpEvent } from "../../manager/mcp-events.js";
import type { McpInstrumentationOptions, OtelApi } from "./instrumentation-options.js";
import { joinOrStart } from "./process-singleton.js";
import { SpanRecorder } from "./span-recorder.js";

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
      const recorder = new SpanRecorder({
        api,
        tracer: tracerProvider.getTracer(CLIENT_INFO.name, CLIENT_INFO.version),
        propagator: options.propagator ?? selectPropagator(api, options),
        recordContent: options.recordContent === true,
        propagateTo: options.propagateTo ?? (() => true),
        getParent: options.parent ?? (() => undefined),
      });
      const unsubscribers = [
        onMcpEvent("requestStarted", (event) => recorder.onRequestStarted(event)),
        onMcpEvent("requestRetried", (event) => recorder.onRequestRetried(event)),
        onMcpEvent("sessionLost", (event) => recorder.onSessionLost(event)),
        onMcpEvent("requestEnded", (event) => recorder.onRequestEnded(event)),
        onMcpEvent("handshakeStarted", (event) => recorder.onHandshakeStarted(event)),
        onMcpEvent("handshakeEnded", (event) => recorder.onHandshakeEnded(event)),
        () => recorder.close(),
      ];
      return () => unsubscribers.forEach((unsubscribe) => unsubscribe());
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

function selectPropagator(
  api: OtelApi,
  { tracerProvider }: McpInstrumentationOptions,
): Pick<TextMapPropagator, "inject"> {
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

type Propagator = Pick<TextMapPropagator, "inject">;

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
