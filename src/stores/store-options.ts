import { omitUndefined } from "../json/json.js";
import { assertObject } from "../config/assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import type { StoreCallOptions } from "./key-value-store.js";

/** Options of all stores except the memory store. */
export interface StoreOptions {
  /**
   * Time limit of one operation.
   * @default 2_000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum size of an entry that is written or read.
   * @default 33_554_432
   */
  readonly maxBytes?: number | undefined;
  /**
   * Receives warnings about invalid entries.
   * @default warnings are written to stderr
   */
  readonly logger?: Logger | undefined;
  /**
   * Returns the time in milliseconds since 1970; must agree between all clients of a shared store.
   * @default Date.now
   */
  readonly now?: (() => number) | undefined;
}

/** Options of stores that share a backend with other data. */
export interface NamespacedStoreOptions extends StoreOptions {
  /**
   * Separates the entries from others in the same backend. Letters, digits, `-` and `_`.
   * @default "langchain-mcp-runtime"
   */
  readonly namespace?: string | undefined;
}

/** The defaults of all store options. */
export const STORE_DEFAULTS = {
  timeoutMs: 2_000,
  maxBytes: 33_554_432,
  namespace: "langchain-mcp-runtime",
  maxEntries: 1_000,
  maxTotalBytes: 67_108_864,
} as const;

export interface ResolvedStoreOptions {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly namespace: string;
  readonly logger: Logger;
  readonly now: () => number;
}

/** Safe in Redis patterns, LangGraph namespaces and file names. */
const NAMESPACE = /^[A-Za-z0-9_-]{1,64}$/;

export function resolveStoreOptions(subject: string, options: NamespacedStoreOptions): ResolvedStoreOptions {
  const { timeoutMs, maxBytes, namespace } = { ...STORE_DEFAULTS, ...parseStoreOptions(subject, options) };
  assertPositive(subject, { timeoutMs, maxBytes });
  if (typeof namespace !== "string" || !NAMESPACE.test(namespace)) {
    const message = `expected letters, digits, "-" and "_", at most 64, got ${describeValue(namespace)}`;
    throw configError(subject, [{ path: "namespace", message }]);
  }
  const { logger = createConsoleLogger(), now = Date.now } = options;
  return { timeoutMs, maxBytes, namespace, logger, now };
}

export function assertPositive(subject: string, values: Readonly<Record<string, unknown>>): void {
  const issues = Object.entries(values)
    .filter(([, value]) => !(Number.isSafeInteger(value) && Number(value) > 0))
    .map(([path, value]) => ({
      path,
      message: `expected a whole number above 0, got ${describeValue(value)}`,
    }));
  if (issues.length > 0) throw configError(subject, issues);
}

export function assertCallOptions<Options extends StoreCallOptions>(options: Options): Options {
  return assertObject(options, { subject: "The store call", path: "options" });
}

/** Returns the options without `undefined`, so that defaults apply. Throws `invalid-config` if they are not an object. */
export function parseStoreOptions<Options extends object>(
  subject: string,
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> } {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object of options, got ${describeValue(options)}`;
    throw configError(subject, [{ path: "", message }]);
  }
  return omitUndefined(options);
}
