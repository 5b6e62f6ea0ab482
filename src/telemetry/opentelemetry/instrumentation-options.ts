import type { Context, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/client-events.js";
import { option, optionsSchema, parseOptions } from "../../config/parse-options.js";
import type * as api from "@opentelemetry/api";

/** The options of `instrumentMcp`. */
export interface McpInstrumentationOptions {
  /** @default the global tracer provider */
  readonly tracerProvider?: TracerProvider;
  /** @default the global meter provider */
  readonly meterProvider?: MeterProvider;
  /**
   * Injects the trace context into `_meta` of each request.
   *
   * @default the global propagator; W3C Trace Context and Baggage if there is none and `tracerProvider` is set
   */
  readonly propagator?: Pick<TextMapPropagator, "inject">;
  /**
   * Whether to send the trace context and baggage to this server.
   *
   * @default () => true
   */
  readonly propagateTo?: (server: string) => boolean;
  /**
   * Records tool arguments and results in spans, with secrets redacted.
   *
   * @default false
   */
  readonly recordContent?: boolean;
  /**
   * Returns the parent context of a request, for runs whose spans are managed elsewhere.
   *
   * @default the active context
   */
  readonly parent?: (request: RequestStarted) => Context | undefined;
}

const INSTRUMENTATION_SCHEMA = optionsSchema<McpInstrumentationOptions>({
  tracerProvider: option.withMethods(["getTracer"]),
  meterProvider: option.withMethods(["getMeter"]),
  propagator: option.withMethods(["inject"]),
  propagateTo: option.function(),
  recordContent: option.boolean,
  parent: option.function(),
});

/** Throws `invalid-config` for unknown options and invalid values. */
export function assertOptions(options: unknown): void {
  parseOptions(INSTRUMENTATION_SCHEMA, options, { subject: "The options object" });
}

/** The OpenTelemetry API, which is loaded on demand. */
export type OtelApi = typeof api;
