import type { Context, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/client-events.js";
import { option, type OptionsOf, optionsSchema } from "../../config/parse-options.js";
import type * as api from "@opentelemetry/api";

const INSTRUMENTATION_FIELDS = {
  /** @default the global tracer provider */
  tracerProvider: option.withMethods<TracerProvider>(["getTracer"]),
  /** @default the global meter provider */
  meterProvider: option.withMethods<MeterProvider>(["getMeter"]),
  /**
   * Injects the trace context into `_meta` of each request.
   *
   * @default the global propagator; W3C Trace Context and Baggage if there is none and `tracerProvider` is set
   */
  propagator: option.withMethods<Pick<TextMapPropagator<unknown>, "inject">>(["inject"]),
  /**
   * Whether to send the trace context and baggage to this server. Synchronous: a promise counts as `false`.
   *
   * @default () => true
   */
  propagateTo: option.function<(server: string) => boolean>(),
  /**
   * Records tool arguments and results in spans, with secrets redacted.
   *
   * @default false
   */
  recordContent: option.boolean,
  /**
   * Returns the parent context of a request, for runs whose spans are managed elsewhere.
   *
   * @default the active context
   */
  parent: option.function<(request: RequestStarted) => Context | undefined>(),
};

/** The options of `instrumentMcp`. */
export interface McpInstrumentationOptions extends OptionsOf<typeof INSTRUMENTATION_FIELDS> {}

export const INSTRUMENTATION_SCHEMA = optionsSchema<McpInstrumentationOptions>(INSTRUMENTATION_FIELDS);

/** The OpenTelemetry API, which is loaded on demand. */
export type OtelApi = typeof api;
