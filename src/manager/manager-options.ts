import type { McpClientOptions } from "../client/mcp-client.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import { type Clock, systemClock } from "../async/clock.js";
import type { AllowAddress } from "../config/address-policy.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../config/parse-options.js";
import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import type { PinMode } from "../catalog/tool-pins.js";
import { omitUndefined } from "../json/json.js";
import { type LimitedStore, limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

/** Default manager and start options. The table in the docs is generated from this. */
export const MANAGER_DEFAULTS = {
  startupWaitMs: 250,
  waitForUncached: true,
  concurrency: 16,
  strict: false,
  dropFailed: true,
  closeTimeoutMs: 10_000,
} as const;

export const LIFECYCLE_FIELDS = {
  /** How many servers are connected at the same time. @default 16 */
  concurrency: option.count,
  /** How long `close()` waits for servers to close. @default 10_000 */
  closeTimeoutMs: option.milliseconds,
  /**
   * Decides where requests may go that you did not configure, for all servers. A server may have an `allowAddress` of
   * its own: then both have to allow an address.
   * @default denies link-local addresses and metadata services (169.254.0.0/16, fe80::/10), and loopback and private
   * ones where your own address is public
   */
  allowAddress: option.function<AllowAddress>(),
};

/** How servers are connected and closed. */
export interface LifecycleOptions extends OptionsOf<typeof LIFECYCLE_FIELDS> {}

export const START_FIELDS = {
  /**
   * How long to wait for servers whose tools are cached, and how long for `optional` servers once all others are
   * connected. They connect in the background afterwards; tools that were not cached are then added (`toolsChanged`).
   * @default 250
   */
  startupWaitMs: option.milliseconds,
  /**
   * Whether to wait for servers without cached tools that are not `optional`, up to their connect timeout. With
   * `false`, their tools are added when they connect, and their failure does not fail the start.
   * @default true
   */
  waitForUncached: option.boolean,
  /** Cancels the start and closes everything that was opened. */
  signal: option.any<AbortSignal>(),
};

/** How long starting a toolset waits for its servers. */
export interface StartOptions extends OptionsOf<typeof START_FIELDS> {}

const MANAGER_FIELDS = {
  /** Whether the failure of one server rolls back the whole connect attempt and throws. @default false */
  strict: option.boolean,
  /** Whether failed servers are excluded from `active`. @default true */
  dropFailed: option.boolean,
  /** Whether a server's tools are listed when it is connected. @default () => true */
  listTools: option.function<(server: string) => boolean>(),
  /** Receives warnings. @default a logger that writes to the console */
  logger: option.logger,
  /** Timers and monotonic time. @default the system clock */
  clock: option.clock,
};

/** Options of `McpServerManager`. */
export interface McpServerManagerOptions
  extends LifecycleOptions, CatalogOptions, OptionsOf<typeof MANAGER_FIELDS> {}

/** Resolved `McpServerManagerOptions`. */
export interface ManagerSettings extends Required<
  Omit<McpServerManagerOptions, "cache" | "pin" | "logger" | "allowAddress">
> {
  readonly allowAddress?: AllowAddress | undefined;
  readonly client: McpClientOptions;
  readonly catalog: CatalogSettings;
  readonly warn: (message: string) => void;
}

export function resolveManagerOptions(options: McpServerManagerOptions): ManagerSettings {
  const parsed = parseOptions(MANAGER_OPTIONS_SCHEMA, options, { subject: "The options object" });
  const { cache, pin, logger = createConsoleLogger(), clock = systemClock, ...others } = parsed;
  const warn = (message: string) => logger.warn(message);
  return {
    ...MANAGER_DEFAULTS,
    listTools: () => true,
    ...omitUndefined(others),
    clock,
    client: { logger, clock },
    catalog: resolveCatalogOptions({ cache, pin }, warn, clock),
    warn,
  };
}

const CACHE_FIELDS = {
  /** The age from which a list is refreshed in the background when it is used. @default 300_000 */
  staleAfterMs: option.milliseconds,
  /**
   * Persists lists, or shares them between processes. The caller closes it. A store that fails or does not respond in
   * time (2 s, or the `timeoutMs` of the store) is reported and not used: lists then come from the servers.
   * @default none: lists are cached in memory
   */
  store: option.withMethods<KeyValueStore>(["get"], "a store, such as fileStore() or redisStore()"),
  /**
   * How long a list is kept in the store.
   * @default 30 days; one minute for a store with change notifications, such as Redis
   */
  ttlMs: option.milliseconds,
};

/** How tool lists are cached. */
export interface CacheOptions extends OptionsOf<typeof CACHE_FIELDS> {}

export const CATALOG_FIELDS = {
  /** How tool lists are cached. */
  cache: optionsSchema<CacheOptions>(CACHE_FIELDS),
  /**
   * Compares each tool's description, schema and annotations with those first seen. On a change, `warn` logs a
   * warning; `block` also hides the tool and denies its calls until `toolset.approveTools()`.
   * @default tools are not compared
   */
  pin: option.oneOf("warn", "block"),
};

/** How tool lists are cached and verified. */
export interface CatalogOptions extends OptionsOf<typeof CATALOG_FIELDS> {}

/** Resolved `CatalogOptions`. */
export interface CatalogSettings {
  readonly staleAfterMs: number;
  readonly store: LimitedStore | undefined;
  readonly ttlMs: number;
  readonly pin: PinMode | undefined;
  readonly warn: (message: string) => void;
}

/** A store with change notifications is shared: a list written by one process serves the others for this long. */
const SHARED_STORE_TTL_MS = 60_000;

export function resolveCatalogOptions(
  { cache = {}, pin }: { readonly [Key in keyof CatalogOptions]: CatalogOptions[Key] | undefined },
  warn: (message: string) => void,
  clock: Clock = systemClock,
): CatalogSettings {
  const store = cache.store && limitStore(cache.store, clock);
  const ttlMs = cache.ttlMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.ttlMs : SHARED_STORE_TTL_MS);
  return { staleAfterMs: cache.staleAfterMs ?? CACHE_DEFAULTS.staleAfterMs, store, ttlMs, pin, warn };
}

const MANAGER_OPTIONS_SCHEMA = optionsSchema<McpServerManagerOptions>({
  ...LIFECYCLE_FIELDS,
  ...CATALOG_FIELDS,
  ...MANAGER_FIELDS,
});
