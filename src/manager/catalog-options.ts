import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import type { PinMode } from "../catalog/tool-pins.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject } from "../json/json.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

export interface CacheOptions {
  /** A list that is younger is used as it is; an older one as well, while one new listing runs. */
  readonly staleAfterMs?: number;
  /** Keeps lists beyond this process, or shares them with others. It is yours: you close it. */
  readonly store?: KeyValueStore;
  /** How long a list stays in the store: 30 days, or a minute in one that many share (with a change feed, as Redis). */
  readonly ttlMs?: number;
}

export interface CatalogOptions {
  readonly cache?: CacheOptions;
  /**
   * Compares what tools say about themselves with what they said first: `warn` tells, `block` also
   * leaves them out and refuses their calls until `toolset.approveTools()`.
   */
  readonly pin?: PinMode;
}

export interface CatalogSettings {
  readonly staleAfterMs: number;
  readonly store: KeyValueStore | undefined;
  readonly ttlMs: number;
  readonly pin: PinMode | undefined;
  readonly warn: (message: string) => void;
}

/** A store that tells of changes is shared by many: what one of them lists serves the others for a minute. */
const SHARED_STORE_TTL_MS = 60_000;
const PIN_MODES: ReadonlySet<unknown> = new Set(["warn", "block", undefined]);

export function resolveCatalogueOptions(
  { cache = {}, pin }: CatalogOptions,
  warn: (message: string) => void,
): CatalogSettings {
  const { store } = cache;
  const ttlMs = cache.ttlMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.ttlMs : SHARED_STORE_TTL_MS);
  return { staleAfterMs: cache.staleAfterMs ?? CACHE_DEFAULTS.staleAfterMs, store, ttlMs, pin, warn };
}

export function issuesOfCatalogue({ cache, pin }: CatalogOptions): ConfigIssue[] {
  const issues = issuesOfCache(cache);
  if (PIN_MODES.has(pin)) return issues;
  return [...issues, { path: "pin", message: `expected "warn" or "block", found ${describeValue(pin)}` }];
}

function issuesOfCache(cache: unknown): ConfigIssue[] {
  if (cache === undefined) return [];
  if (!isPlainObject(cache))
    return [{ path: "cache", message: `expected an object, found ${describeValue(cache)}` }];
  const { staleAfterMs, ttlMs, store, ...others } = cache;
  const times = Object.entries({ staleAfterMs, ttlMs }).filter(
    ([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0),
  );
  return [
    ...Object.keys(others).map((key) => ({
      path: `cache.${key}`,
      message: "is no option; options are staleAfterMs, store, ttlMs",
    })),
    ...times.map(([name, ms]) => ({
      path: `cache.${name}`,
      message: `expected milliseconds, found ${describeValue(ms)}`,
    })),
    ...(store === undefined || isStore(store)
      ? []
      : [{ path: "cache.store", message: "expected a store, such as fileStore() or redisStore()" }]),
  ];
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
