import type { KeyValueStore } from "../stores/key-value-store.js";
import { parseRecord, type ServerRecord, toStoredRecord } from "./server-record.js";
import { toStoreKeyPrefix } from "./store-key-prefix.js";

/** Part of the key. Increment it when the format changes, so that older records are ignored. */
const FORMAT = 1;

interface TieredRecordStoreOptions {
  /** Fastest first. */
  readonly stores: readonly KeyValueStore[];
  /** When a record expires unless it is written again. */
  readonly ttlMs: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

interface RecordKey {
  readonly name: string;
  readonly fingerprint: string;
}

/** Server records in several stores, read one after the other. A failing store is logged and skipped. */
export class TieredRecordStore {
  readonly #options: TieredRecordStoreOptions;

  constructor(options: TieredRecordStoreOptions) {
    this.#options = options;
  }

  /** Returns the record of the first store that has one, and copies it to the stores before it. */
  async read(key: RecordKey): Promise<ServerRecord | undefined> {
    const { stores, now, signal } = this.#options;
    for (const [index, store] of stores.entries()) {
      const stored = await this.#attempt(key, "read", () => store.get(toStoreKey(key), { signal }));
      const record = parseRecord(stored, key.name, now());
      if (record === undefined) continue;
      await this.#write(stores.slice(0, index), key, record);
      return record;
    }
    return undefined;
  }

  async write(key: RecordKey, record: ServerRecord): Promise<void> {
    await this.#write(this.#options.stores, key, record);
  }

  async #write(stores: readonly KeyValueStore[], key: RecordKey, record: ServerRecord): Promise<void> {
    const { ttlMs, signal } = this.#options;
    const value = toStoredRecord(record);
    await Promise.all(
      stores.map((store) =>
        this.#attempt(key, "written", () => store.set(toStoreKey(key), value, { ttlMs, signal })),
      ),
    );
  }

  async #attempt<T>(key: RecordKey, operation: string, work: () => Promise<T>): Promise<T | undefined> {
    const { signal, warn } = this.#options;
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted)
        warn(`The registry record of server "${key.name}" could not be ${operation}: ${String(error)}`);
      return undefined;
    }
  }
}

function toStoreKey({ name, fingerprint }: RecordKey): string {
  return `registry/${FORMAT}/${toStoreKeyPrefix(name, fingerprint)}`;
}
