import { CLIENT_INFO } from "../../config/client-info.js";
import { onMcpEvent } from "../../manager/mcp-events.js";
import { Durations } from "./duration-metrics.js";
import type { McpInstrumentationOptions } from "./instrumentation-options.js";
import { joinOrStart } from "./process-singleton.js";
import type { OtelApi } from "./otel-api.js";

/** Measures for a meter provider, unless that is done for it already; the function that comes back stops. */
export function measure({ metrics }: OtelApi, { meterProvider = metrics }: McpInstrumentationOptions) {
  return joinOrStart({
    name: "measuring",
    provider: () => (meterProvider === metrics ? metrics.getMeterProvider() : meterProvider),
    options: undefined,
    start() {
      const durations = new Durations(meterProvider.getMeter(CLIENT_INFO.name, CLIENT_INFO.version));
      const stops = [
        onMcpEvent("requestEnded", (event) => durations.operationEnded(event)),
        onMcpEvent("handshakeEnded", (event) => durations.operationEnded(event)),
        onMcpEvent("sessionEnded", (event) => durations.sessionEnded(event)),
      ];
      return () => stops.forEach((stop) => stop());
    },
    check: () => undefined,
  });
}
