import { checkSignal } from "../../async/assert-abort-signal.js";
import type { JsonValue } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { expiryOf } from "../to-expires-at.js";
import type { KeyValueStore, StoreCallOptions, StoreSetOptions } from "../key-value-store.js";
import { deepFreeze, toSoundJson } from "../storable-json.js";
import { checkStoreKey, checkStorePrefix, quoteKey } from "../store-key.js";
import { checkCallOptions, checkPositive, defined, STORE_DEFAULTS } from "../store-options.js";

export interface MemoryStoreOptions {
  /** How many entries are kept; those not used for longest go first. */
  readonly maxEntries?: number | undefined;
  /** How large all entries together may be, as JSON. */
  readonly maxTotalBytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

const SUBJECT = "The memory store";

/** Entries in this process, for as long as it lives. What is read is frozen and shared: a read costs nothing. */
export function memoryStore(options: MemoryStoreOptions = {}): KeyValueStore {
  const { maxEntries, maxTotalBytes } = { ...STORE_DEFAULTS, ...defined(SUBJECT, options) };
  checkPositive(SUBJECT, { maxEntries, maxTotalBytes });
  return new MemoryStore({ maxEntries, maxTotalBytes }, options.now ?? Date.now);
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
  /** In the order of their last use. */
  readonly #entries = new Map<string, MemoryEntry>();
  #totalBytes = 0;
  #isClosed = false;

  constructor(limits: Limits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  async get(key: string, options?: StoreCallOptions): Promise<JsonValue | undefined> {
    this.#checkUse(options);
    checkStoreKey(key);
    const entry = this.#take(key);
    if (entry === undefined || this.#hasExpired(entry)) return undefined;
    this.#put(key, entry);
    return entry.value;
  }

  async set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    this.#checkUse(options);
    checkStoreKey(key);
    const expiresAt = expiryOf(options.ttlMs, this.#now());
    const { copy, text } = toSoundJson(value);
    const bytes = Buffer.byteLength(text);
    const { maxEntries, maxTotalBytes } = this.#limits;
    if (bytes > maxTotalBytes) {
      const problem = `${quoteKey(key)} takes ${bytes} bytes, and \`maxTotalBytes\` allows ${maxTotalBytes}`;
      throw new McpRuntimeError("too-large", `The memory store cannot keep the value: ${problem}.`);
    }
    deepFreeze(copy);
    this.#take(key);
    this.#put(key, { value: copy, bytes, expiresAt });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#totalBytes <= maxTotalBytes) return;
      this.#take(oldest);
    }
  }

  async delete(key: string, options?: StoreCallOptions): Promise<void> {
    this.#checkUse(options);
    checkStoreKey(key);
    this.#take(key);
  }

  async list(prefix: string, options?: StoreCallOptions): Promise<string[]> {
    this.#checkUse(options);
    checkStorePrefix(prefix);
    const live = [...this.#entries].filter(
      ([key, entry]) => key.startsWith(prefix) && !this.#hasExpired(entry),
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

  #take(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    this.#totalBytes -= entry?.bytes ?? 0;
    return entry;
  }

  #put(key: string, entry: MemoryEntry): void {
    this.#entries.set(key, entry);
    this.#totalBytes += entry.bytes;
  }

  #hasExpired({ expiresAt }: MemoryEntry): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now();
  }

  #checkUse(options: StoreCallOptions = {}): void {
    const { signal } = checkCallOptions(options);
    if (this.#isClosed) throw new McpRuntimeError("closed", "The memory store was closed.");
    if (signal === undefined) return;
    checkSignal(signal);
    signal.throwIfAborted();
  }
}
