import type { KeyValueStore } from "../stores/key-value-store.js";
import { parseRecord, type ServerRecord, toStoredRecord } from "./server-record.js";
import { serverPlace } from "./store-key-prefix.js";

/** Changes when what is written does: what an older version wrote is then not there. */
const FORMAT = 1;

interface RegistryLevelsParts {
  /** The nearest first. */
  readonly stores: readonly KeyValueStore[];
  /** How long a record stays that nobody renews. */
  readonly ttlMs: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

interface RecordOwner {
  readonly name: string;
  readonly fingerprint: string;
}

/** The places beyond this process in which records are kept, asked one after the other. */
export class RegistryLevels {
  readonly #parts: RegistryLevelsParts;

  constructor(parts: RegistryLevelsParts) {
    this.#parts = parts;
  }

  /** What the nearest level knows that knows anything; those before it are told. */
  async read(owner: RecordOwner): Promise<ServerRecord | undefined> {
    const { stores, now, signal } = this.#parts;
    for (const [level, store] of stores.entries()) {
      const stored = await this.#try(owner, "read", () => store.get(keyOf(owner), { signal }));
      const record = parseRecord(stored, owner.name, now());
      if (record === undefined) continue;
      await this.#write(stores.slice(0, level), owner, record);
      return record;
    }
    return undefined;
  }

  async write(owner: RecordOwner, record: ServerRecord): Promise<void> {
    await this.#write(this.#parts.stores, owner, record);
  }

  async #write(stores: readonly KeyValueStore[], owner: RecordOwner, record: ServerRecord): Promise<void> {
    const { ttlMs, signal } = this.#parts;
    const value = toStoredRecord(record);
    await Promise.all(
      stores.map((store) =>
        this.#try(owner, "written", () => store.set(keyOf(owner), value, { ttlMs, signal })),
      ),
    );
  }

  /** A level that is down is a warning. */
  async #try<T>(owner: RecordOwner, what: string, work: () => Promise<T>): Promise<T | undefined> {
    const { signal, warn } = this.#parts;
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted)
        warn(`The registry's record of server "${owner.name}" could not be ${what}: ${String(error)}`);
      return undefined;
    }
  }
}

function keyOf({ name, fingerprint }: RecordOwner): string {
  return `registry/${FORMAT}/${serverPlace(name, fingerprint)}`;
}
