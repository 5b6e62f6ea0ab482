import type { CancelScope } from "../../async/cancel-scope.js";
import { isStoreKey } from "../store-key.js";
import type { ResolvedStoreOptions } from "../store-options.js";
import { decodeHeader, hasExpired } from "../stored-record.js";
import { type DriverEntry, type StoreDriver, InvalidEntryError } from "../store-driver.js";

/** The part of `BaseStore` of `@langchain/core/stores` that is used. */
export interface LangChainStore {
  mget(keys: string[]): Promise<unknown[]>;
  mset(pairs: [string, never][]): Promise<void>;
  mdelete(keys: string[]): Promise<void>;
  yieldKeys(prefix?: string): AsyncIterable<unknown>;
}

interface LangChainDriverOptions {
  readonly config: ResolvedStoreOptions;
  readonly values: "bytes" | "text";
}

export class LangChainDriver implements StoreDriver {
  readonly name = "the LangChain store";
  readonly secrets = [];
  readonly #store: LangChainStore;
  readonly #options: ResolvedStoreOptions;
  readonly #values: "bytes" | "text";
  readonly #prefix: string;

  constructor(store: LangChainStore, { config, values }: LangChainDriverOptions) {
    this.#store = store;
    this.#options = config;
    this.#values = values;
    this.#prefix = `${config.namespace}:`;
  }

  async read(key: string): Promise<string | undefined> {
    const [value] = await this.#store.mget([this.#toStoreName(key)]);
    return value === undefined || value === null ? undefined : toText(value);
  }

  async write({ key, text }: DriverEntry): Promise<void> {
    const value = this.#values === "bytes" ? new TextEncoder().encode(text) : text;
    await this.#store.mset([[this.#toStoreName(key), value as never]]);
  }

  async remove(key: string): Promise<void> {
    await this.#store.mdelete([this.#toStoreName(key)]);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys: string[] = [];
    for await (const name of this.#store.yieldKeys(this.#toStoreName(prefix))) {
      cancellation.throwIfCancelled();
      const key = typeof name === "string" ? this.#toKey(name) : undefined;
      if (key?.startsWith(prefix) === true && (await this.#isLive(key))) keys.push(key);
    }
    return keys;
  }

  async close(): Promise<void> {
    // The store is owned by the caller.
  }

  async #isLive(key: string): Promise<boolean> {
    const header = decodeHeader((await this.read(key).catch(() => undefined)) ?? "");
    return header?.key === key && !hasExpired(header, this.#options.now());
  }

  /** Escapes a key, since some stores use keys as file names. Prefixes stay prefixes. */
  #toStoreName(key: string): string {
    const bytes = [...Buffer.from(key)];
    const safe = bytes.map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, "0")}`;
    });
    return this.#prefix + safe.join("");
  }

  /** Returns `undefined` for a name that this driver did not write. */
  #toKey(name: string): string | undefined {
    if (!name.startsWith(this.#prefix)) return undefined;
    const hex = name
      .slice(this.#prefix.length)
      .replaceAll(/_([0-9a-f]{2})|[^]/g, (character, code: string | undefined) =>
        (code ?? Buffer.from(character).toString("hex")).toLowerCase(),
      );
    const key = Buffer.from(hex, "hex").toString();
    return isStoreKey(key) && this.#toStoreName(key) === name ? key : undefined;
  }
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  throw new InvalidEntryError("is neither a string nor bytes");
}
