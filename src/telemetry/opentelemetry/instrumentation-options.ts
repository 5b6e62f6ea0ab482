import type { Context, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/request-events.js";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject } from "../../json/json.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";

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

/** What each has to be: of a type, or an object with this method. */
const EXPECTED: Readonly<Record<keyof McpInstrumentationOptions, string>> = {
  tracerProvider: "getTracer()",
  meterProvider: "getMeter()",
  propagator: "inject()",
  propagateTo: "function",
  recordContent: "boolean",
  parent: "function",
};

/** Throws kind `definition` for what is no option, and for a value that an option cannot have. */
export function checkOptions(options: unknown): void {
  const issues = isPlainObject(options)
    ? Object.entries(options).flatMap(([path, value]) => issuesOf(path, value))
    : [{ path: "", message: `expected an object, found ${describeValue(options)}` }];
  if (issues.length > 0) throw configError("The set of options", issues);
}

function issuesOf(path: string, value: unknown): ConfigIssue[] {
  const expected = EXPECTED[path as keyof McpInstrumentationOptions];
  if (expected === undefined)
    return [{ path, message: `is no option; options are ${Object.keys(EXPECTED).join(", ")}` }];
  if (value === undefined || typeof value === expected || hasMethod(value, expected)) return [];
  const wanted = expected.endsWith("()") ? `an object with ${expected}` : `a ${expected}`;
  return [{ path, message: `expected ${wanted}, found ${describeValue(value)}` }];
}

function hasMethod(value: unknown, method: string): boolean {
  const [name = ""] = method.split("(");
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}
