import type { McpClientOptions } from "../client/mcp-client.js";
import { validateLogger, createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { type Clock, systemClock } from "../async/clock.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import type { PinMode } from "../catalog/tool-pins.js";
import { isPlainObject } from "../json/json.js";
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

const OPTION_KEYS = [
  "concurrency",
  "closeTimeoutMs",
  "strict",
  "dropFailed",
  "listTools",
  "cache",
  "pin",
  "logger",
  "clock",
];

export function resolveManagerOptions(options: McpServerManagerOptions): ManagerSettings {
  const issues = validateOptions(options);
  if (issues.length > 0) throw configError("The options object", issues);
  const { logger = createConsoleLogger(), clock = systemClock } = options;
  const warn = (message: string) => logger.warn(message);
  return {
    concurrency: options.concurrency ?? MANAGER_DEFAULTS.concurrency,
    closeTimeoutMs: options.closeTimeoutMs ?? MANAGER_DEFAULTS.closeTimeoutMs,
    isStrict: options.strict ?? MANAGER_DEFAULTS.strict,
    dropsFailed: options.dropFailed ?? MANAGER_DEFAULTS.dropFailed,
    listsTools: options.listTools ?? (() => true),
    clock,
    client: { logger, clock },
    catalog: resolveCatalogOptions(options, warn),
    warn,
  };
}

function validateOptions(options: unknown): ConfigIssue[] {
  if (typeof options !== "object" || options === null)
    return [{ path: "", message: `expected an object, got ${describeValue(options)}` }];
  const { strict, dropFailed, listTools, logger } = options as McpServerManagerOptions;
  const flags = Object.entries({ strict, dropFailed }).filter(
    ([, flag]) => flag !== undefined && typeof flag !== "boolean",
  );
  return [
    ...Object.keys(options)
      .filter((key) => !OPTION_KEYS.includes(key))
      .map((path) => ({ path, message: `unknown option; valid options: ${OPTION_KEYS.join(", ")}` })),
    ...flags.map(([path, flag]) => ({
      path,
      message: `expected true or false, got ${describeValue(flag)}`,
    })),
    ...(listTools === undefined || typeof listTools === "function"
      ? []
      : [{ path: "listTools", message: `expected a function, got ${describeValue(listTools)}` }]),
    ...validateLogger(logger),
    ...validateLifecycle(options),
    ...validateCatalogOptions(options),
  ];
}

export function validateLifecycle({ concurrency, closeTimeoutMs }: LifecycleOptions): ConfigIssue[] {
  const isCount = concurrency === undefined || (Number.isInteger(concurrency) && concurrency > 0);
  return [
    ...(isCount
      ? []
      : [
          {
            path: "concurrency",
            message: `expected a number of 1 or more, got ${describeValue(concurrency)}`,
          },
        ]),
    ...validateDurations({ closeTimeoutMs }),
  ];
}

export function validateDurations(times: Readonly<Record<string, unknown>>): ConfigIssue[] {
  return Object.entries(times)
    .filter(([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0))
    .map(([path, ms]) => ({ path, message: `expected milliseconds, got ${describeValue(ms)}` }));
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
const PIN_MODES: ReadonlySet<unknown> = new Set(["warn", "block", undefined]);

export function resolveCatalogOptions(
  { cache = {}, pin }: CatalogOptions,
  warn: (message: string) => void,
): CatalogSettings {
  const { store } = cache;
  const ttlMs = cache.ttlMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.ttlMs : SHARED_STORE_TTL_MS);
  return { staleAfterMs: cache.staleAfterMs ?? CACHE_DEFAULTS.staleAfterMs, store, ttlMs, pin, warn };
}

export function validateCatalogOptions({ cache, pin }: CatalogOptions): ConfigIssue[] {
  const issues = validateCache(cache);
  if (PIN_MODES.has(pin)) return issues;
  return [...issues, { path: "pin", message: `expected "warn" or "block", got ${describeValue(pin)}` }];
}

function validateCache(cache: unknown): ConfigIssue[] {
  if (cache === undefined) return [];
  if (!isPlainObject(cache))
    return [{ path: "cache", message: `expected an object, got ${describeValue(cache)}` }];
  const { staleAfterMs, ttlMs, store, ...unknown } = cache;
  const times = Object.entries({ staleAfterMs, ttlMs }).filter(
    ([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0),
  );
  return [
    ...Object.keys(unknown).map((key) => ({
      path: `cache.${key}`,
      message: "unknown option; valid options: staleAfterMs, store, ttlMs",
    })),
    ...times.map(([name, ms]) => ({
      path: `cache.${name}`,
      message: `expected milliseconds, got ${describeValue(ms)}`,
    })),
    ...(store === undefined || isStore(store)
      ? []
      : [{ path: "cache.store", message: "expected a store, such as fileStore() or redisStore()" }]),
  ];
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
