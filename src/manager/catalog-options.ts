import { CACHE_DEFAULTS } from "../catalog/tool-catalog.js";
import type { PinMode } from "../catalog/tool-pins.js";
import { describeFound } from "../json/describe-value.js";
import { isJsonObject } from "../json/json.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

export interface CacheOptions {
  /** A list that is younger is used as it is; an older one as well, while one new listing runs. */
  readonly freshMs?: number;
  /** Keeps lists beyond this process, or shares them with others. It is yours: you close it. */
  readonly store?: KeyValueStore;
  /** How long a list stays in the store: 30 days, or a minute in one that many share (with a change feed, as Redis). */
  readonly keepMs?: number;
}

export interface CatalogueOptions {
  readonly cache?: CacheOptions;
  /**
   * Compares what tools say about themselves with what they said first: `warn` tells, `block` also
   * leaves them out and refuses their calls until `toolset.approveTools()`.
   */
  readonly pin?: PinMode;
}

export interface CatalogueSettings {
  readonly freshMs: number;
  readonly store: KeyValueStore | undefined;
  readonly keepMs: number;
  readonly pin: PinMode | undefined;
  readonly warn: (message: string) => void;
}

/** A store that tells of changes is shared by many: what one of them lists serves the others for a minute. */
const SHARED_KEEP_MS = 60_000;
const PIN_MODES: ReadonlySet<unknown> = new Set(["warn", "block", undefined]);

export function resolveCatalogueOptions(
  { cache = {}, pin }: CatalogueOptions,
  warn: (message: string) => void,
): CatalogueSettings {
  const { store } = cache;
  const keepMs = cache.keepMs ?? (store?.watch === undefined ? CACHE_DEFAULTS.keepMs : SHARED_KEEP_MS);
  return { freshMs: cache.freshMs ?? CACHE_DEFAULTS.freshMs, store, keepMs, pin, warn };
}

export function issuesOfCatalogue({ cache, pin }: CatalogueOptions): DefinitionIssue[] {
  const issues = issuesOfCache(cache);
  if (PIN_MODES.has(pin)) return issues;
  return [...issues, { path: "pin", message: `expected "warn" or "block", found ${describeFound(pin)}` }];
}

function issuesOfCache(cache: unknown): DefinitionIssue[] {
  if (cache === undefined) return [];
  if (!isJsonObject(cache))
    return [{ path: "cache", message: `expected an object, found ${describeFound(cache)}` }];
  const { freshMs, keepMs, store, ...others } = cache;
  const times = Object.entries({ freshMs, keepMs }).filter(
    ([, ms]) => ms !== undefined && !(typeof ms === "number" && ms >= 0),
  );
  return [
    ...Object.keys(others).map((key) => ({
      path: `cache.${key}`,
      message: "is no option; options are freshMs, store, keepMs",
    })),
    ...times.map(([name, ms]) => ({
      path: `cache.${name}`,
      message: `expected milliseconds, found ${describeFound(ms)}`,
    })),
    ...(store === undefined || isStore(store)
      ? []
      : [{ path: "cache.store", message: "expected a store, such as fileStore() or redisStore()" }]),
  ];
}

function isStore(value: unknown): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
