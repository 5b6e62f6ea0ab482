import type { McpClientOptions } from "../client/mcp-client.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { type Clock, systemClock } from "../async/clock.js";
import { option, type OptionFields, optionsSchema, parseOptions } from "../config/parse-options.js";
import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import type { PinMode } from "../catalog/tool-pins.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

/** Default manager and start options. The table in the README is generated from this. */
export const MANAGER_DEFAULTS = {
  startupWaitMs: 250,
  waitForUncached: true,
  concurrency: 16,
  strict: false,
  dropFailed: true,
  closeTimeoutMs: 10_000,
} as const;

/** How servers are connected and closed. */
export interface LifecycleOptions {
  /** How many servers are connected at the same time. @default 16 */
  readonly concurrency?: number;
  /** How long `close()` waits for servers to close. @default 10_000 */
  readonly closeTimeoutMs?: number;
}

/** How long starting a toolset waits for its servers. */
export interface StartOptions {
  /** How long to wait for servers whose tools are cached. They connect in the background afterwards. @default 250 */
  readonly startupWaitMs?: number;
  /**
   * Whether to wait for servers without cached tools, up to their connect timeout. With `false`, their tools are
   * added when they connect, and their failure does not fail the start.
   * @default true
   */
  readonly waitForUncached?: boolean;
  /** Cancels the start and closes everything that was opened. */
  readonly signal?: AbortSignal;
}

/** Options of `McpServerManager`. */
export interface McpServerManagerOptions extends LifecycleOptions, CatalogOptions {
  /** Whether the failure of one server rolls back the whole connect attempt and throws. @default false */
  readonly strict?: boolean;
  /** Whether failed servers are excluded from `active`. @default true */
  readonly dropFailed?: boolean;
  /** Whether a server's tools are listed when it is connected. @default () => true */
  readonly listTools?: (server: string) => boolean;
  /** Receives warnings. @default a logger that writes to the console */
  readonly logger?: Logger;
  /** Timers and monotonic time. @default the system clock */
  readonly clock?: Clock;
}

/** Resolved `McpServerManagerOptions`. */
export interface ManagerSettings {
  readonly concurrency: number;
  readonly closeTimeoutMs: number;
  readonly isStrict: boolean;
  readonly dropsFailed: boolean;
  readonly listsTools: (server: string) => boolean;
  readonly clock: Clock;
  readonly client: McpClientOptions;
  readonly catalog: CatalogSettings;
  readonly warn: (message: string) => void;
}

export function resolveManagerOptions(options: McpServerManagerOptions): ManagerSettings {
  const parsed = parseOptions(MANAGER_OPTIONS_SCHEMA, options, { subject: "The options object" });
  const { logger = createConsoleLogger(), clock = systemClock } = parsed;
  const warn = (message: string) => logger.warn(message);
  return {
    concurrency: parsed.concurrency ?? MANAGER_DEFAULTS.concurrency,
    closeTimeoutMs: parsed.closeTimeoutMs ?? MANAGER_DEFAULTS.closeTimeoutMs,
    isStrict: parsed.strict ?? MANAGER_DEFAULTS.strict,
    dropsFailed: parsed.dropFailed ?? MANAGER_DEFAULTS.dropFailed,
    listsTools: parsed.listTools ?? (() => true),
    clock,
    client: { logger, clock },
    catalog: resolveCatalogOptions(parsed, warn),
    warn,
  };
}

/** How tool lists are cached. */
export interface CacheOptions {
  /** The age from which a list is refreshed in the background when it is used. @default 300_000 */
  readonly staleAfterMs?: number;
  /** Persists lists, or shares them between processes. The caller closes it. @default none: lists are cached in memory */
  readonly store?: KeyValueStore;
  /**
   * How long a list is kept in the store.
   * @default 30 days; one minute for a store with change notifications, such as Redis
   */
  readonly ttlMs?: number;
}

/** How tool lists are cached and verified. */
export interface CatalogOptions {
  /** How tool lists are cached. */
  readonly cache?: CacheOptions;
  /**
   * Compares each tool's description, schema and annotations with those first seen. On a change, `warn` logs a
   * warning; `block` also hides the tool and denies its calls until `toolset.approveTools()`.
   * @default tools are not compared
   */
  readonly pin?: PinMode;
}

/** Resolved `CatalogOptions`. */
export interface CatalogSettings {
  readonly staleAfterMs: number;
  readonly store: KeyValueStore | undefined;
  readonly ttlMs: number;
  readonly pin: PinMode | undefined;
  readonly warn: (message: string) => void;
}

/** A store with change notifications is shared: a list written by one process serves the others for this long. */
const SHARED_STORE_TTL_MS = 60_000;

export function resolveCatalogOptions(
  { cache = {}, pin }: CatalogOptions,
  warn: (message: string) => void,
): CatalogSettings {
  const { store } = cache;
  const ttlMs = cache.ttlMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.ttlMs : SHARED_STORE_TTL_MS);
  return { staleAfterMs: cache.staleAfterMs ?? CACHE_DEFAULTS.staleAfterMs, store, ttlMs, pin, warn };
}

export const LIFECYCLE_FIELDS: OptionFields<LifecycleOptions> = {
  concurrency: option.count,
  closeTimeoutMs: option.milliseconds,
};

export const CATALOG_FIELDS: OptionFields<CatalogOptions> = {
  cache: optionsSchema<CacheOptions>({
    staleAfterMs: option.milliseconds,
    store: option.withMethods(["get"], "a store, such as fileStore() or redisStore()"),
    ttlMs: option.milliseconds,
  }),
  pin: option.oneOf("warn", "block"),
};

export const START_FIELDS: OptionFields<StartOptions> = {
  startupWaitMs: option.milliseconds,
  waitForUncached: option.boolean,
  signal: option.any,
};

const MANAGER_OPTIONS_SCHEMA = optionsSchema<McpServerManagerOptions>({
  ...LIFECYCLE_FIELDS,
  strict: option.boolean,
  dropFailed: option.boolean,
  listTools: option.function(),
  ...CATALOG_FIELDS,
  logger: option.logger,
  clock: option.clock,
});
