import type { Context, TextMapPropagator, TextMapSetter } from "@opentelemetry/api";
import type { OtelApi } from "./otel-api.js";

type Propagator = Pick<TextMapPropagator, "inject">;

/** W3C Trace Context and Baggage, for a process that has set up a tracer and no propagator. */
export function w3cPropagator({ trace, propagation, isSpanContextValid }: OtelApi): Propagator {
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
