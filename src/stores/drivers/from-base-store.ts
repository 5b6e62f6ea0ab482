import { hasMethods, option, optionsSchema } from "../../config/parse-options.js";
import { configError } from "../../errors/mcp-runtime-error.js";
import { isPlainObject } from "../../json/json.js";
import { DriverStore, type StoreDriver } from "../driver-store.js";
import { type KeyValueStore, isStoreKey } from "../key-value-store.js";
import {
  type NamespacedStoreOptions,
  resolveStoreOptions,
  type ResolvedStoreOptions,
  STORE_FIELDS,
} from "../store-options.js";
import { InvalidEntryError, isLiveEntry } from "../entry-codec.js";
import { ListingLimit } from "../listing-limit.js";

/** Options of `fromBaseStore`. */
export interface BaseStoreOptions extends NamespacedStoreOptions {
  /**
   * The value type of a LangChain store; ignored for LangGraph stores.
   * @default "bytes"
   */
  readonly values?: "bytes" | "text" | undefined;
}

/**
 * Creates a store on top of a `BaseStore` of LangChain (`mget`, `mset`, …) or of LangGraph (`get`, `put`, …).
 * The underlying store is not closed. It does not remove expired entries; they are ignored.
 *
 * @throws McpRuntimeError `invalid-config` for another object
 * @example
 * ```ts
 * import { InMemoryStore } from "@langchain/langgraph";
 * await using store = fromBaseStore(new InMemoryStore());
 * ```
 */
export function fromBaseStore(
  store: LangChainStore | LangGraphStore,
  options: BaseStoreOptions = {},
): KeyValueStore {
  const config = resolveStoreOptions("The store", options, BASE_STORE_SCHEMA);
  if (hasMethods(store, "mget", "mset", "mdelete", "yieldKeys")) {
    const driver = createLangChainDriver(store as LangChainStore, config, options.values ?? "bytes");
    return new DriverStore(driver, config);
  }
  if (hasMethods(store, "get", "put", "delete", "search"))
    return new DriverStore(createLangGraphDriver(store as LangGraphStore, config), config);
  const message = "expected a BaseStore of @langchain/core/stores or of @langchain/langgraph";
  throw configError("The store", [{ path: "", message }]);
}

/** How many items are requested, or how many names are read, before other work may run. */
const PAGE_SIZE = 100;

const BASE_STORE_SCHEMA = optionsSchema<BaseStoreOptions>({
  ...STORE_FIELDS,
  values: option.oneOf("bytes", "text"),
});

/** The part of `BaseStore` of `@langchain/core/stores` that is used. */
export interface LangChainStore {
  /** Returns the values in the order of the keys, `undefined` or `null` for a missing one. */
  mget(keys: string[]): Promise<unknown[]>;
  /** Stores values, which are bytes or strings as chosen by the option `values`. */
  mset(pairs: [string, never][]): Promise<void>;
  /** Deletes entries; a missing one is not an error. */
  mdelete(keys: string[]): Promise<void>;
  /** Returns the keys that start with `prefix`. */
  yieldKeys(prefix?: string): AsyncIterable<unknown>;
}

function createLangChainDriver(
  store: LangChainStore,
  { namespace, now }: ResolvedStoreOptions,
  values: "bytes" | "text",
): StoreDriver {
  const read = async (key: string) => {
    const [value] = await store.mget([toStoreName(namespace, key)]);
    return value === undefined || value === null ? undefined : toText(value);
  };
  return {
    name: "the LangChain store",
    read,
    async write({ key, text }) {
      const value = values === "bytes" ? new TextEncoder().encode(text) : text;
      await store.mset([[toStoreName(namespace, key), value as never]]);
    },
    async remove(key) {
      await store.mdelete([toStoreName(namespace, key)]);
    },
    async list(prefix, cancellation) {
      const limit = new ListingLimit(cancellation);
      const keys = new Set<string>();
      let names = 0;
      for await (const name of store.yieldKeys(toStoreName(namespace, prefix))) {
        cancellation.throwIfCancelled();
        names += 1;
        if (names % PAGE_SIZE === 0) await limit.addPage(PAGE_SIZE);
        const key = typeof name === "string" ? toKey(namespace, name) : undefined;
        if (key?.startsWith(prefix) !== true) continue;
        const text = await read(key).catch(() => undefined);
        if (isLiveEntry(text, key, now())) keys.add(key);
      }
      return [...keys];
    },
  };
}

/** Escapes a key, since some stores use keys as file names. Prefixes stay prefixes. */
function toStoreName(namespace: string, key: string): string {
  const bytes = [...Buffer.from(key)];
  const safe = bytes.map((byte) => {
    const character = String.fromCodePoint(byte);
    return /[A-Za-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, "0")}`;
  });
  return `${namespace}:${safe.join("")}`;
}

/** Returns `undefined` for a name that this driver did not write. */
function toKey(namespace: string, name: string): string | undefined {
  if (!name.startsWith(`${namespace}:`)) return undefined;
  const hex = name
    .slice(namespace.length + 1)
    .replaceAll(/_([0-9a-f]{2})|[^]/g, (character, code: string | undefined) =>
      (code ?? Buffer.from(character).toString("hex")).toLowerCase(),
    );
  const key = Buffer.from(hex, "hex").toString();
  return isStoreKey(key) && toStoreName(namespace, key) === name ? key : undefined;
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  throw new InvalidEntryError("is neither a string nor bytes");
}

interface LangGraphItem {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: object;
}

/** The part of `BaseStore` of `@langchain/langgraph` that is used. */
export interface LangGraphStore {
  /** Returns the item of a key, or `null`. */
  get(namespace: string[], key: string): Promise<LangGraphItem | null>;
  /** Stores an item that is not indexed for semantic search. */
  put(namespace: string[], key: string, value: Record<string, string>, index: false): Promise<void>;
  /** Deletes an item; a missing one is not an error. */
  delete(namespace: string[], key: string): Promise<void>;
  /** Returns one page of the items of a namespace and of the namespaces below it. */
  search(
    namespace: string[],
    options: { readonly limit: number; readonly offset: number },
  ): Promise<readonly LangGraphItem[]>;
}

function createLangGraphDriver(store: LangGraphStore, { namespace, now }: ResolvedStoreOptions): StoreDriver {
  return {
    name: "the LangGraph store",
    async read(key) {
      const item = await store.get([namespace], key);
      if (item === undefined || item === null) return undefined;
      const text = getText(item);
      if (text === undefined) throw new InvalidEntryError("is not in the format of this package");
      return text;
    },
    async write({ key, text }) {
      await store.put([namespace], key, { record: text }, false);
    },
    async remove(key) {
      await store.delete([namespace], key);
    },
    async list(prefix, cancellation) {
      const limit = new ListingLimit(cancellation);
      const keys = new Set<string>();
      const seen = new Set<string>();
      for (let offset = 0, isLast = false; !isLast; offset += PAGE_SIZE) {
        const page = await store.search([namespace], { limit: PAGE_SIZE, offset });
        await limit.addPage(page.length);
        const seenBefore = seen.size;
        for (const item of page) {
          seen.add(JSON.stringify([item.namespace, item.key]));
          // A search also returns items of nested namespaces, which are skipped.
          const isOwn = item.namespace.length === 1 && item.key.startsWith(prefix);
          if (isOwn && isLiveEntry(getText(item), item.key, now())) keys.add(item.key);
        }
        // A store that ignores `offset` returns the same items again.
        isLast = page.length < PAGE_SIZE || seen.size === seenBefore;
      }
      return [...keys];
    },
  };
}

function getText({ value }: LangGraphItem): string | undefined {
  const text = isPlainObject(value) ? value["record"] : undefined;
  return typeof text === "string" ? text : undefined;
}
