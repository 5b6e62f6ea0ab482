import { availableParallelism } from "node:os";
import type { McpClientOptions } from "../client/client-components.js";
import { createConsoleLogger, redactLogger } from "../telemetry/logger.js";
import { type Clock, systemClock } from "../async/clock.js";
import type { AllowAddress } from "../config/address-policy.js";
import { describeServerOption } from "../config/server-schema.js";
import { CLIENT_INFO_SCHEMA } from "../config/parse-options.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../config/parse-options.js";
import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import { Redactor } from "../errors/redaction.js";
import { omitUndefined } from "../json/json.js";
import { limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { OnServerError } from "./server-errors.js";

/** Default manager and start options. The table in the docs is generated from this. */
export const MANAGER_DEFAULTS = {
  startupWaitMs: 250,
  waitForUncached: true,
  concurrency: 128,
  strict: false,
  dropFailed: true,
  closeTimeoutMs: 10_000,
  live: true,
  reconnection: {
    delaysMs: [500, 1_000, 2_000, 4_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000],
    maxLosses: 5,
    lossWindowMs: 30_000,
  },
} as const;

const RECONNECTION_FIELDS = {
  /**
   * The delay before each attempt to restore a lost connection; the last one is used for all further attempts. After
   * rejected credentials, delays of less than 15 s are skipped. Those of remote servers are randomly up to a fifth longer.
   * @default [500, 1_000, 2_000, 4_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000]
   */
  delaysMs: option.opaque<readonly number[]>("a non-empty array of milliseconds", isDelays),
  /**
   * After how many failed attempts the server is `failed`: then only a call, `reconnect()` or `connect()` tries again.
   * @default Infinity for remote servers, 4 for servers in a child process or in this process
   */
  maxAttempts: option.opaque<number>(
    "a whole number above 0, or Infinity",
    (value) => value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && Number(value) > 0),
  ),
  /** How often a connection may be lost within `lossWindowMs`; after more losses, the server is `failed`. @default 5 */
  maxLosses: option.count,
  /** The time in which losses are counted. @default 30_000 */
  lossWindowMs: option.milliseconds,
};

/**
 * When a lost connection is restored without a call, and a remote server tried again that could not be connected. A lost
 * session over Streamable HTTP is opened by the next call instead.
 */
export interface ReconnectionOptions extends OptionsOf<typeof RECONNECTION_FIELDS> {}

/** Resolved `ReconnectionOptions`. */
export interface ReconnectionSettings extends Required<Omit<ReconnectionOptions, "maxAttempts">> {
  readonly maxAttempts?: number | undefined;
}

function isDelays(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((ms: unknown) => typeof ms === "number" && ms >= 0 && Number.isFinite(ms))
  );
}

export const LIFECYCLE_FIELDS = {
  /** The name, version and title of your application, which servers receive in the handshake. @default this package's */
  clientInfo: CLIENT_INFO_SCHEMA,
  /**
   * How many servers are connected at the same time; at most half of them at the same host and port. With 1, they are
   * connected one after the other.
   * @default 128
   */
  concurrency: option.count,
  /** How many programs (`command`) are started at the same time. @default four times the number of processor cores */
  programConcurrency: option.count,
  /** How long `close()` waits for servers to close. @default 10_000 */
  closeTimeoutMs: option.milliseconds,
  /**
   * Whether the tools follow a server that announces changes of its list (`listChanged`). Over HTTP that takes one
   * connection more for the shared session, which is not part of `limits.sockets` and does not keep the process alive;
   * there is none with a `fetch` or `dispatcher` of your own. With `false`, only a listener, `mcpMiddleware` and
   * `McpToolNode` make it follow.
   * @default true
   */
  live: option.boolean,
  /**
   * When a lost connection is restored, and a remote server tried again that could not be connected. With `false`, the
   * next call does that.
   *
   * @default the defaults of `ReconnectionOptions`
   */
  reconnection: optionsSchema<ReconnectionOptions>(RECONNECTION_FIELDS).or(option.oneOf(false)),
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

const onServerError = option.function<OnServerError>();

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
  /**
   * Decides for each server that fails at the start and has no cached tools whether that fails the start. Return
   * `undefined` for the decision that is made without it.
   * @default a failure throws, unless the server is `optional` or `waitForUncached` is `false`
   */
  onServerError,
  /**
   * Cancels the start and closes everything that was opened.
   *
   * @default none
   */
  signal: option.any<AbortSignal>(),
};

/** How long starting a toolset waits for its servers. */
export interface StartOptions extends OptionsOf<typeof START_FIELDS> {}

const MANAGER_FIELDS = {
  /** Whether the failure of one server rolls back the whole connect attempt and throws. @default false */
  strict: option.boolean,
  /**
   * Decides for each server that `connect` or `reconnect` could not connect whether that rolls back and throws. Return
   * `undefined` for what `strict` decides.
   * @default what `strict` decides
   */
  onServerError,
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
  Omit<
    McpServerManagerOptions,
    "cache" | "clientInfo" | "pin" | "logger" | "allowAddress" | "onServerError" | "reconnection"
  >
> {
  readonly onServerError?: OnServerError | undefined;
  /** `undefined`: lost connections are not restored before the next call. */
  readonly reconnection: ReconnectionSettings | undefined;
  readonly allowAddress?: AllowAddress | undefined;
  readonly client: McpClientOptions;
  readonly catalog: CatalogSettings;
  /** Redacts the secrets of all servers. */
  readonly redactor: Redactor;
  /** Redacts the secrets of all servers. */
  readonly warn: (message: string) => void;
}

export function resolveManagerOptions(options: McpServerManagerOptions): ManagerSettings {
  const parsed = parseOptions(MANAGER_OPTIONS_SCHEMA, options, { subject: "The options object" });
  const { cache, pin, clientInfo, reconnection, ...remaining } = parsed;
  const { logger = createConsoleLogger(), clock = systemClock, ...others } = remaining;
  const redactor = new Redactor();
  const { warn } = redactLogger(logger, redactor);
  return {
    ...MANAGER_DEFAULTS,
    programConcurrency: 4 * availableParallelism(),
    listTools: () => true,
    ...omitUndefined(others),
    reconnection:
      reconnection === false
        ? undefined
        : { ...MANAGER_DEFAULTS.reconnection, ...omitUndefined(reconnection) },
    clock,
    client: { clientInfo, logger, clock },
    catalog: resolveCatalogOptions({ cache, pin }, warn, clock),
    redactor,
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
   * @default 30 days; twice `staleAfterMs` for a store with change notifications, such as Redis
   */
  ttlMs: option.milliseconds,
};

/** How tool lists are cached. */
export interface CacheOptions extends OptionsOf<typeof CACHE_FIELDS> {}

export const CATALOG_FIELDS = {
  /**
   * How tool lists are cached.
   *
   * @default the defaults of `CacheOptions`
   */
  cache: optionsSchema<CacheOptions>(CACHE_FIELDS, {
    expected: "an object such as { store: redisStore(…) }",
  }),
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
type CatalogSettings = ReturnType<typeof resolveCatalogOptions>;

export function resolveCatalogOptions(
  { cache = {}, pin }: { readonly [Key in keyof CatalogOptions]: CatalogOptions[Key] | undefined },
  warn: (message: string) => void,
  clock: Clock = systemClock,
) {
  const store = cache.store && limitStore(cache.store, clock);
  const staleAfterMs = cache.staleAfterMs ?? CACHE_DEFAULTS.staleAfterMs;
  // A store with change notifications is shared: a list of one process serves the others until it is stale, and a start.
  const ttlMs =
    cache.ttlMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.ttlMs : 2 * Math.max(staleAfterMs, 1));
  return { staleAfterMs, store, ttlMs, pin, warn };
}

const MANAGER_OPTIONS_SCHEMA = optionsSchema<McpServerManagerOptions>(
  { ...LIFECYCLE_FIELDS, ...CATALOG_FIELDS, ...MANAGER_FIELDS },
  { describeKey: describeServerOption },
);
