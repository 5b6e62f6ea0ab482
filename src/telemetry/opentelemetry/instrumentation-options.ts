import type { Context, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/client-events.js";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject } from "../../json/json.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
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

/** The expected `typeof`, or the method that an object must have. */
const EXPECTED_VALUES: Readonly<Record<keyof McpInstrumentationOptions, string>> = {
  tracerProvider: "getTracer()",
  meterProvider: "getMeter()",
  propagator: "inject()",
  propagateTo: "function",
  recordContent: "boolean",
  parent: "function",
};

/** Throws `invalid-config` for unknown options and invalid values. */
export function assertOptions(options: unknown): void {
  const issues = isPlainObject(options)
    ? Object.entries(options).flatMap(([path, value]) => validateOption(path, value))
    : [{ path: "", message: `expected an object, got ${describeValue(options)}` }];
  if (issues.length > 0) throw configError("The options object", issues);
}

function validateOption(path: string, value: unknown): ConfigIssue[] {
  const expected = EXPECTED_VALUES[path as keyof McpInstrumentationOptions];
  if (expected === undefined)
    return [{ path, message: `unknown option; valid options: ${Object.keys(EXPECTED_VALUES).join(", ")}` }];
  if (value === undefined || typeof value === expected || hasMethod(value, expected)) return [];
  const expectation = expected.endsWith("()") ? `an object with ${expected}` : `a ${expected}`;
  return [{ path, message: `expected ${expectation}, got ${describeValue(value)}` }];
}

function hasMethod(value: unknown, method: string): boolean {
  const [name = ""] = method.split("(");
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}

/** The OpenTelemetry API, which is loaded on demand. */
export type OtelApi = typeof api;
