import { CLIENT_INFO } from "../../config/client-info.js";
import { onMcpEvent, type McpEvents } from "../../manager/mcp-events.js";
import type { McpInstrumentationOptions, OtelApi } from "./instrumentation-options.js";
import { joinOrStart } from "./process-singleton.js";
import type { Meter, MetricOptions } from "@opentelemetry/api";
import { errorAttributes, requestAttributes, transportAttributes } from "./attributes.js";

/** Records metrics for a meter provider, once per provider. Returns the function that stops it. */
export function recordMetrics({ metrics }: OtelApi, { meterProvider = metrics }: McpInstrumentationOptions) {
  return joinOrStart({
    name: "measuring",
    getProvider: () => (meterProvider === metrics ? metrics.getMeterProvider() : meterProvider),
    options: undefined,
    start() {
      const durations = new DurationMetrics(meterProvider.getMeter(CLIENT_INFO.name, CLIENT_INFO.version));
      const unsubscribers = [
        onMcpEvent("requestEnded", (event) => durations.recordOperation(event)),
        onMcpEvent("handshakeEnded", (event) => durations.recordOperation(event)),
        onMcpEvent("sessionEnded", (event) => durations.recordSession(event)),
      ];
      return () => unsubscribers.forEach((unsubscribe) => unsubscribe());
    },
    assertCompatible: () => undefined,
  });
}

/** As recommended by the semantic conventions, in seconds. */
const BUCKET_BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Duration histograms of requests, handshakes and sessions. */
class DurationMetrics {
  readonly #operations;
  readonly #sessions;

  constructor(meter: Meter) {
    this.#operations = meter.createHistogram(
      "mcp.client.operation.duration",
      createHistogramOptions("Duration of MCP requests, including retries and reconnects."),
    );
    this.#sessions = meter.createHistogram(
      "mcp.client.session.duration",
      createHistogramOptions("Duration of MCP sessions."),
    );
  }

  recordOperation(event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"]): void {
    this.#operations.record(event.latencyMs / 1_000, {
      ...requestAttributes(event),
      ...transportAttributes(event),
      ...errorAttributes(event),
    });
  }

  recordSession(event: McpEvents["sessionEnded"]): void {
    this.#sessions.record(event.durationMs / 1_000, {
      "langchain_mcp.server": event.server,
      ...transportAttributes(event),
      ...errorAttributes(event),
    });
  }
}

function createHistogramOptions(description: string): MetricOptions {
  return { unit: "s", description, advice: { explicitBucketBoundaries: BUCKET_BOUNDARIES } };
}
