import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { parseOptions } from "../../config/parse-options.js";
import {
  INSTRUMENTATION_SCHEMA,
  type McpInstrumentationOptions,
  type OtelApi,
} from "./instrumentation-options.js";
import { traceRequests } from "./trace-requests.js";
import { CLIENT_INFO } from "../../config/message-transport.js";
import { onMcpEvent, type McpEvents } from "../../manager/mcp-events.js";
import { joinOrStart } from "./process-singleton.js";
import { MetricLabels, outcomeLabels, requestAttributes } from "./attributes.js";

/** The handle returned by {@link instrumentMcp}. */
export interface McpInstrumentation {
  /**
   * Stops the instrumentation when every caller that started it for the same provider has disabled it. Open spans
   * are ended then.
   */
  disable(): void;
}

/**
 * Traces and measures every MCP client of this process, following the OpenTelemetry semantic conventions for
 * MCP. Calling it again for the same provider does not duplicate spans or metrics.
 *
 * @throws {@link McpRuntimeError} of kind `invalid-config` if an option is invalid, if `@opentelemetry/api` is not
 * installed, or if the provider is already instrumented with different options.
 *
 * @example
 * ```ts
 * import { instrumentMcp } from "langchain-mcp-runtime/opentelemetry";
 *
 * const instrumentation = await instrumentMcp();
 * // …
 * instrumentation.disable();
 * ```
 */
export async function instrumentMcp(options: McpInstrumentationOptions = {}): Promise<McpInstrumentation> {
  parseOptions(INSTRUMENTATION_SCHEMA, options, { subject: "The options object" });
  const api = await loadOptionalDependency("@opentelemetry/api", {
    neededBy: "instrumentMcp()",
    load: () => import("@opentelemetry/api"),
  });
  const stopFunctions = [traceRequests(api, options), recordMetrics(api, options)];
  return {
    disable() {
      for (const stop of stopFunctions) stop();
    },
  };
}

/** As recommended by the semantic conventions, in seconds. */
const BUCKET_BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Records metrics for a meter provider, once per provider. Returns the function that stops it. */
function recordMetrics({ metrics }: OtelApi, { meterProvider = metrics }: McpInstrumentationOptions) {
  return joinOrStart({
    name: "measuring",
    getProvider: () => (meterProvider === metrics ? metrics.getMeterProvider() : meterProvider),
    options: undefined,
    start() {
      const meter = meterProvider.getMeter(CLIENT_INFO.name, CLIENT_INFO.version);
      const createHistogram = (name: string, description: string) =>
        meter.createHistogram(name, {
          unit: "s",
          description,
          advice: { explicitBucketBoundaries: BUCKET_BOUNDARIES },
        });
      const operations = createHistogram(
        "mcp.client.operation.duration",
        "Duration of MCP requests, including retries and reconnects.",
      );
      const sessions = createHistogram("mcp.client.session.duration", "Duration of MCP sessions.");
      const labels = new MetricLabels();
      const recordOperation = (event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"]) =>
        operations.record(event.latencyMs / 1_000, {
          ...requestAttributes(labels.limitNames(event)),
          ...outcomeLabels(event),
        });
      return [
        onMcpEvent("requestEnded", recordOperation),
        onMcpEvent("handshakeEnded", recordOperation),
        onMcpEvent("sessionEnded", (event) => {
          const attributes = { "langchain_mcp.server": event.server, ...outcomeLabels(event) };
          sessions.record(event.durationMs / 1_000, attributes);
        }),
      ];
    },
    assertCompatible: () => undefined,
  });
}
