import type { Context, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { RequestStarted } from "../client/request-events.js";
import { CLIENT_INFO } from "../definitions/client-info.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import { loadPeer } from "../errors/load-peer.js";
import { onMcpEvent } from "../manager/mcp-events.js";
import { Durations } from "./durations.js";
import type { OtelApi } from "./otel-api.js";
import { Spans } from "./spans.js";
import { w3cPropagator } from "./w3c-propagator.js";

export interface McpInstrumentationOptions {
  /** The process's own, when left out. */
  readonly tracerProvider?: TracerProvider;
  /** The process's own, when left out. */
  readonly meterProvider?: MeterProvider;
  /**
   * Writes the trace context into `_meta` of each request. The process's own, when left out; W3C Trace
   * Context and Baggage where it has none and a `tracerProvider` is given.
   */
  readonly propagator?: Pick<TextMapPropagator, "inject">;
  /** Whether trace context, and with it baggage, goes to this server; to all, when left out. */
  readonly propagateTo?: (server: string) => boolean;
  /** Arguments and results of tools in spans, without secrets. Off, unless it is `true`. */
  readonly recordContent?: boolean;
  /** Where a request belongs, if not to the span that is active: for runs whose spans are kept elsewhere. */
  readonly parent?: (request: RequestStarted) => Context | undefined;
}

export interface McpInstrumentation {
  /** Ends it. Spans of what is under way are ended now. */
  disable(): void;
}

const KEYS: Readonly<Record<keyof McpInstrumentationOptions, "object" | "function" | "boolean">> = {
  tracerProvider: "object",
  meterProvider: "object",
  propagator: "object",
  propagateTo: "function",
  recordContent: "boolean",
  parent: "function",
};

/**
 * Traces and measures every MCP client of this process, from now on, by the semantic conventions of
 * OpenTelemetry. Rejects with kind `definition` when `@opentelemetry/api` is missing.
 */
export async function instrumentMcp(options: McpInstrumentationOptions = {}): Promise<McpInstrumentation> {
  checkOptions(options);
  const api = await loadPeer("@opentelemetry/api", {
    neededBy: "instrumentMcp()",
    load: () => import("@opentelemetry/api"),
  });
  const { name, version } = CLIENT_INFO;
  const { tracerProvider = api.trace, meterProvider = api.metrics } = options;
  const spans = new Spans({
    api,
    tracer: tracerProvider.getTracer(name, version),
    propagator: options.propagator ?? propagatorOf(api, options),
    recordsContent: options.recordContent === true,
    propagatesTo: options.propagateTo ?? (() => true),
    parentOf: options.parent ?? (() => undefined),
  });
  const durations = new Durations(meterProvider.getMeter(name, version));
  const stops = [
    onMcpEvent("requestStarted", (event) => spans.requestStarted(event)),
    onMcpEvent("requestRetried", (event) => spans.requestRetried(event)),
    onMcpEvent("sessionLost", (event) => spans.sessionLost(event)),
    onMcpEvent("requestEnded", (event) => {
      spans.requestEnded(event);
      durations.operationEnded(event);
    }),
    onMcpEvent("handshakeStarted", (event) => spans.handshakeStarted(event)),
    onMcpEvent("handshakeEnded", (event) => {
      spans.handshakeEnded(event);
      durations.operationEnded(event);
    }),
    onMcpEvent("sessionEnded", (event) => durations.sessionEnded(event)),
  ];
  return {
    disable() {
      for (const stop of stops) stop();
      spans.close();
    },
  };
}

function propagatorOf(
  api: OtelApi,
  { tracerProvider }: McpInstrumentationOptions,
): Pick<TextMapPropagator, "inject"> {
  const { propagation } = api;
  const hasOwn = propagation.fields().length > 0;
  return hasOwn || tracerProvider === undefined ? propagation : w3cPropagator(api);
}

function checkOptions(options: object): void {
  const issues = Object.entries(options).flatMap(([path, value]: [string, unknown]) => {
    const expected = KEYS[path as keyof McpInstrumentationOptions];
    if (expected === undefined)
      return [{ path, message: `is no option; options are ${Object.keys(KEYS).join(", ")}` }];
    const isFine = value === undefined || (typeof value === expected && value !== null);
    return isFine ? [] : [{ path, message: `expected ${expected}, found ${describeFound(value)}` }];
  });
  if (issues.length > 0) throw definitionError("The set of options", issues);
}
