import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { assertOptions, type McpInstrumentationOptions } from "./instrumentation-options.js";
import { recordMetrics } from "./record-metrics.js";
import { traceRequests } from "./trace-requests.js";

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
  assertOptions(options);
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
