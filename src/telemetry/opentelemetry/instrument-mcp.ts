import { loadPeer } from "../../errors/load-optional-dependency.js";
import { checkOptions, type McpInstrumentationOptions } from "./instrumentation-options.js";
import { measure } from "./record-metrics.js";
import { traceRequests } from "./trace-requests.js";

export interface McpInstrumentation {
  /** Ends it, once everybody has who began it. Spans of what is under way are ended then. */
  disable(): void;
}

/**
 * Traces and measures every MCP client of this process, from now on, by the semantic conventions of
 * OpenTelemetry. Asked for again, a provider is given nothing twice. Rejects with kind `definition` when
 * `@opentelemetry/api` is missing, and when this provider is used already with other options.
 */
export async function instrumentMcp(options: McpInstrumentationOptions = {}): Promise<McpInstrumentation> {
  checkOptions(options);
  const api = await loadPeer("@opentelemetry/api", {
    neededBy: "instrumentMcp()",
    load: () => import("@opentelemetry/api"),
  });
  const stops = [traceRequests(api, options), measure(api, options)];
  return {
    disable() {
      for (const stop of stops) stop();
    },
  };
}
