import type { z } from "zod";
import {
  assertOptions,
  option,
  type OptionsOf,
  optionKeys,
  optionsSchema,
  parseOptions,
} from "../config/parse-options.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import type { StoreCallOptions, StoreLeaseOptions, StoreSetOptions } from "./key-value-store.js";

/** Safe in Redis patterns, LangGraph namespaces and file names. */
const NAMESPACE = /^[A-Za-z0-9_-]{1,64}$/;

const COMMON_FIELDS = {
  /**
   * Time limit of one operation.
   * @default 2_000
   */
  timeoutMs: option.count,
  /**
   * Maximum size of an entry that is written or read.
   * @default 33_554_432
   */
  maxBytes: option.count,
  /**
   * Receives warnings about invalid entries.
   * @default warnings are written to stderr
   */
  logger: option.logger,
  /**
   * Returns the time in milliseconds since 1970; must agree between all clients of a shared store.
   * @default Date.now
   */
  now: option.function<() => number>(),
};

/** Options of all stores except the memory store. */
export interface StoreOptions extends OptionsOf<typeof COMMON_FIELDS, undefined> {}

const NAMESPACE_FIELDS = {
  /**
   * Separates the entries from others in the same backend. Letters, digits, `-` and `_`.
   * @default "langchain-mcp-runtime"
   */
  namespace: option.opaque<string>(
    'letters, digits, "-" and "_", at most 64',
    (value) => typeof value === "string" && NAMESPACE.test(value),
  ),
};

/** Options of stores that share a backend with other data. */
export interface NamespacedStoreOptions extends StoreOptions, OptionsOf<typeof NAMESPACE_FIELDS, undefined> {}

/** The defaults of all store options. */
export const STORE_DEFAULTS = {
  timeoutMs: 2_000,
  maxBytes: 33_554_432,
  namespace: "langchain-mcp-runtime",
  maxEntries: 1_000,
  maxTotalBytes: 67_108_864,
} as const;

export type ResolvedStoreOptions = ReturnType<typeof resolveStoreOptions>;

/** The schemas of the fields of `NamespacedStoreOptions`. */
export const STORE_FIELDS = { ...COMMON_FIELDS, ...NAMESPACE_FIELDS };
const STORE_SCHEMA = optionsSchema<NamespacedStoreOptions>(STORE_FIELDS);

export function resolveStoreOptions<Options extends NamespacedStoreOptions>(
  subject: string,
  options: Options,
  schema: z.ZodType<Options> = STORE_SCHEMA as z.ZodType<Options>,
) {
  const { timeoutMs, maxBytes, namespace, logger, now } = parseOptions(schema, options, { subject });
  return {
    timeoutMs: timeoutMs ?? STORE_DEFAULTS.timeoutMs,
    maxBytes: maxBytes ?? STORE_DEFAULTS.maxBytes,
    namespace: namespace ?? STORE_DEFAULTS.namespace,
    logger: logger ?? createConsoleLogger(),
    now: now ?? Date.now,
  };
}

const CALL_OPTIONS = optionKeys<StoreCallOptions>({ signal: true });
const TTL_OPTIONS = optionKeys<StoreSetOptions & StoreLeaseOptions>({ signal: true, ttlMs: true });
const STORE_CALL = { subject: "The store call" };

export function assertCallOptions(options: StoreCallOptions): StoreCallOptions {
  return assertOptions(options, CALL_OPTIONS, STORE_CALL);
}

/** For the options of `set` and `lease`. */
export function assertTtlOptions<Options extends StoreSetOptions>(options: Options): Options {
  return assertOptions(options, TTL_OPTIONS, STORE_CALL);
}
