import { checkObject } from "../config/assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import type { StoreCallOptions } from "./key-value-store.js";

export interface StoreOptions {
  /** How long an operation may take. */
  readonly timeoutMs?: number | undefined;
  /** The largest entry that is written or read. */
  readonly maxBytes?: number | undefined;
  /** Told of entries that cannot be trusted; warnings go to stderr without one. */
  readonly logger?: Logger | undefined;
  /** Milliseconds since 1970, the same for all who share the place. */
  readonly now?: (() => number) | undefined;
}

export interface NamespacedStoreOptions extends StoreOptions {
  /** Keeps these entries apart from others in the same place. */
  readonly namespace?: string | undefined;
}

/** What every option of a store is when nobody says otherwise. */
export const STORE_DEFAULTS = {
  timeoutMs: 2_000,
  maxBytes: 33_554_432,
  namespace: "langchain-mcp-runtime",
  maxEntries: 1_000,
  maxTotalBytes: 67_108_864,
} as const;

export interface StoreSpec {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly namespace: string;
  readonly logger: Logger;
  readonly now: () => number;
}

/** Fits everywhere: in a Redis pattern, in LangGraph's namespaces, in a file name. */
const NAMESPACE = /^[A-Za-z0-9_-]{1,64}$/;

export function resolveStoreOptions(subject: string, options: NamespacedStoreOptions): StoreSpec {
  const { timeoutMs, maxBytes, namespace } = { ...STORE_DEFAULTS, ...defined(subject, options) };
  checkPositive(subject, { timeoutMs, maxBytes });
  if (typeof namespace !== "string" || !NAMESPACE.test(namespace)) {
    const message = `expected letters, digits, "-" and "_", at most 64, found ${describeValue(namespace)}`;
    throw configError(subject, [{ path: "namespace", message }]);
  }
  const { logger = createConsoleLogger(), now = Date.now } = options;
  return { timeoutMs, maxBytes, namespace, logger, now };
}

export function checkPositive(subject: string, values: Readonly<Record<string, unknown>>): void {
  const issues = Object.entries(values)
    .filter(([, value]) => !(Number.isSafeInteger(value) && Number(value) > 0))
    .map(([path, value]) => ({
      path,
      message: `expected a whole number above 0, found ${describeValue(value)}`,
    }));
  if (issues.length > 0) throw configError(subject, issues);
}

export function checkCallOptions<Options extends StoreCallOptions>(options: Options): Options {
  return checkObject(options, { subject: "The use of the store", path: "options" });
}

/** What is `undefined` was not said. */
export function defined<Options extends object>(
  subject: string,
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> } {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object of options, found ${describeValue(options)}`;
    throw configError(subject, [{ path: "", message }]);
  }
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Options]?: Exclude<Options[Name], undefined> };
}
