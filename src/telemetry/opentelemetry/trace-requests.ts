import type { TextMapPropagator } from "@opentelemetry/api";
import { CLIENT_INFO } from "../../config/client-info.js";
import { configError } from "../../errors/config-error.js";
import { onMcpEvent } from "../../manager/mcp-events.js";
import type { McpInstrumentationOptions } from "./instrumentation-options.js";
import { joinOrStart } from "./process-singleton.js";
import type { OtelApi } from "./otel-api.js";
import { Spans } from "./spans.js";
import { w3cPropagator } from "./w3c-propagator.js";

/** What has to be the same for one span to be enough. */
const SHAPING = ["propagator", "propagateTo", "recordContent", "parent"] as const;

/**
 * Makes spans for a tracer provider, unless they are made for it already; the function that comes back
 * stops. Throws kind `definition` where those are made with other options.
 */
export function traceRequests(api: OtelApi, options: McpInstrumentationOptions): () => void {
  const { tracerProvider = api.trace } = options;
  return joinOrStart({
    name: "tracing",
    provider: () => providerBehind(api, tracerProvider),
    options,
    start() {
      const spans = new Spans({
        api,
        tracer: tracerProvider.getTracer(CLIENT_INFO.name, CLIENT_INFO.version),
        propagator: options.propagator ?? propagatorOf(api, options),
        recordsContent: options.recordContent === true,
        propagatesTo: options.propagateTo ?? (() => true),
        parentOf: options.parent ?? (() => undefined),
      });
      const stops = [
        onMcpEvent("requestStarted", (event) => spans.requestStarted(event)),
        onMcpEvent("requestRetried", (event) => spans.requestRetried(event)),
        onMcpEvent("sessionLost", (event) => spans.sessionLost(event)),
        onMcpEvent("requestEnded", (event) => spans.requestEnded(event)),
        onMcpEvent("handshakeStarted", (event) => spans.handshakeStarted(event)),
        onMcpEvent("handshakeEnded", (event) => spans.handshakeEnded(event)),
        () => spans.close(),
      ];
      return () => stops.forEach((stop) => stop());
    },
    check: (begunWith) => checkSame(begunWith, options),
  });
}

/** The process's own provider stands behind two others that pass everything on. */
function providerBehind(
  { trace, ProxyTracerProvider }: OtelApi,
  given: NonNullable<McpInstrumentationOptions["tracerProvider"]>,
): object {
  const provider = given === trace ? trace.getTracerProvider() : given;
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}

function propagatorOf(
  api: OtelApi,
  { tracerProvider }: McpInstrumentationOptions,
): Pick<TextMapPropagator, "inject"> {
  const { propagation } = api;
  const hasOwn = propagation.fields().length > 0;
  return hasOwn || tracerProvider === undefined ? propagation : w3cPropagator(api);
}

function checkSame(begunWith: McpInstrumentationOptions, wanted: McpInstrumentationOptions): void {
  const message =
    "spans are made for this tracerProvider already, by an instrumentMcp() that was given another one; disable() that first";
  const issues = SHAPING.filter((key) => begunWith[key] !== wanted[key]).map((path) => ({ path, message }));
  if (issues.length > 0) throw configError("The set of options", issues);
}
