import { assertAbortSignal } from "../../async/cancel-scope.js";
import { deepFreeze, type JsonValue } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { hasExpired, toExpiresAt, toStorableJson } from "../entry-codec.js";
import {
  type KeyValueStore,
  type StoreCallOptions,
  type StoreSetOptions,
  assertStoreKey,
  assertStorePrefix,
  quoteKey,
  TIME_LIMITED,
} from "../key-value-store.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../../config/parse-options.js";
import { assertCallOptions, assertTtlOptions, STORE_DEFAULTS } from "../store-options.js";

const MEMORY_STORE_FIELDS = {
  /**
   * Maximum number of entries; the least recently used are evicted first.
   * @default 1_000
   */
  maxEntries: option.count,
  /**
   * Maximum total size of all entries as JSON.
   * @default 67_108_864
   */
  maxTotalBytes: option.count,
  /**
   * Returns the time in milliseconds since 1970.
   * @default Date.now
   */
  now: option.function<() => number>(),
};

/** Options of `memoryStore`. */
export interface MemoryStoreOptions extends OptionsOf<typeof MEMORY_STORE_FIELDS, undefined> {}

const MEMORY_STORE_SCHEMA = optionsSchema<MemoryStoreOptions>(MEMORY_STORE_FIELDS);

/**
 * Creates a store in the memory of this process. Values that are read are frozen and shared, not copied.
 *
 * @throws McpRuntimeError `invalid-config` for invalid options
 *
 * @example
 * ```ts
 * await using store = memoryStore({ maxEntries: 100 });
 * const toolset = await createMcpTools(servers, { cache: { store } });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): KeyValueStore {
  const {
    maxEntries = STORE_DEFAULTS.maxEntries,
    maxTotalBytes = STORE_DEFAULTS.maxTotalBytes,
    now = Date.now,
  } = parseOptions(MEMORY_STORE_SCHEMA, options, { subject: "The memory store" });
  return new MemoryStore({ maxEntries, maxTotalBytes }, now);
}

interface MemoryEntry {
  readonly value: JsonValue;
  readonly bytes: number;
  readonly expiresAt: number | undefined;
}

type Limits = Readonly<Record<"maxEntries" | "maxTotalBytes", number>>;

class MemoryStore implements KeyValueStore {
  readonly #limits: Limits;
  readonly #now: () => number;
  /** In the order of last use. */
  readonly #entries = new Map<string, MemoryEntry>();
  #totalBytes = 0;
  #isClosed = false;

  constructor(limits: Limits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get [TIME_LIMITED](): boolean {
    return true;
  }

  async get(key: string, options?: StoreCallOptions): Promise<JsonValue | undefined> {
    this.#assertUsable(options);
    assertStoreKey(key);
    const entry = this.#remove(key);
    if (entry === undefined || hasExpired(entry, this.#now())) return undefined;
    this.#insert(key, entry);
    return entry.value;
  }

  async set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    const { ttlMs, signal } = assertTtlOptions(options);
    this.#assertUsable({ signal });
    assertStoreKey(key);
    const expiresAt = toExpiresAt(ttlMs, this.#now());
    const { copy, text } = toStorableJson(value);
    const bytes = Buffer.byteLength(text);
    const { maxEntries, maxTotalBytes } = this.#limits;
    if (bytes > maxTotalBytes) {
      const problem = `${quoteKey(key)} has ${bytes} bytes; \`maxTotalBytes\` is ${maxTotalBytes}`;
      throw new McpRuntimeError("too-large", `The memory store cannot store the value: ${problem}.`);
    }
    deepFreeze(copy);
    this.#remove(key);
    this.#insert(key, { value: copy, bytes, expiresAt });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#totalBytes <= maxTotalBytes) return;
      this.#remove(oldest);
    }
  }

  async delete(key: string, options?: StoreCallOptions): Promise<void> {
    this.#assertUsable(options);
    assertStoreKey(key);
    this.#remove(key);
  }

  async list(prefix: string, options?: StoreCallOptions): Promise<string[]> {
    this.#assertUsable(options);
    assertStorePrefix(prefix);
    const live = [...this.#entries].filter(
      ([key, entry]) => key.startsWith(prefix) && !hasExpired(entry, this.#now()),
    );
    return live.map(([key]) => key).toSorted();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#entries.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #remove(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    this.#totalBytes -= entry?.bytes ?? 0;
    return entry;
  }

  #insert(key: string, entry: MemoryEntry): void {
    this.#entries.set(key, entry);
    this.#totalBytes += entry.bytes;
  }

  #assertUsable(options: StoreCallOptions = {}): void {
    const { signal } = assertCallOptions(options);
    if (this.#isClosed) throw new McpRuntimeError("closed", "The memory store was closed.");
    if (signal === undefined) return;
    assertAbortSignal(signal);
    signal.throwIfAborted();
  }
}
