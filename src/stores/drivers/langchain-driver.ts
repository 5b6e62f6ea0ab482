import type { CancelScope } from "../../async/cancel-scope.js";
import { isStoreKey } from "../store-key.js";
import type { StoreSpec } from "../store-options.js";
import { decodeHeader, hasExpired } from "../stored-record.js";
import { type ShelfEntry, type StoreDriver, UnsoundEntry } from "../store-driver.js";

/** A `BaseStore` of `@langchain/core/stores`, by its shape. */
export interface LangChainStore {
  mget(keys: string[]): Promise<unknown[]>;
  mset(pairs: [string, never][]): Promise<void>;
  mdelete(keys: string[]): Promise<void>;
  yieldKeys(prefix?: string): AsyncIterable<unknown>;
}

interface LangChainShelfOptions {
  readonly config: StoreSpec;
  readonly values: "bytes" | "text";
}

export class LangChainShelf implements StoreDriver {
  readonly name = "the LangChain store";
  readonly secrets = [];
  readonly #store: LangChainStore;
  readonly #spec: StoreSpec;
  readonly #values: "bytes" | "text";
  readonly #prefix: string;

  constructor(store: LangChainStore, { config, values }: LangChainShelfOptions) {
    this.#store = store;
    this.#spec = config;
    this.#values = values;
    this.#prefix = `${config.namespace}:`;
  }

  async read(key: string): Promise<string | undefined> {
    const [value] = await this.#store.mget([this.#nameOf(key)]);
    return value === undefined || value === null ? undefined : toText(value);
  }

  async write({ key, text }: ShelfEntry): Promise<void> {
    const value = this.#values === "bytes" ? new TextEncoder().encode(text) : text;
    await this.#store.mset([[this.#nameOf(key), value as never]]);
  }

  async remove(key: string): Promise<void> {
    await this.#store.mdelete([this.#nameOf(key)]);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys: string[] = [];
    for await (const name of this.#store.yieldKeys(this.#nameOf(prefix))) {
      cancellation.throwIfCancelled();
      const key = typeof name === "string" ? this.#keyOf(name) : undefined;
      if (key?.startsWith(prefix) === true && (await this.#isLive(key))) keys.push(key);
    }
    return keys;
  }

  async close(): Promise<void> {
    // The store belongs to whoever made it.
  }

  async #isLive(key: string): Promise<boolean> {
    const header = decodeHeader((await this.read(key).catch(() => undefined)) ?? "");
    return header?.key === key && !hasExpired(header, this.#spec.now());
  }

  /** Some stores make files of their keys, and take few characters. The beginning of a key stays one. */
  #nameOf(key: string): string {
    const bytes = [...Buffer.from(key)];
    const safe = bytes.map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9-]/.test(character) ? character : `_${byte.toString(16).padStart(2, "0")}`;
    });
    return this.#prefix + safe.join("");
  }

  /** `undefined` for a name that is not ours. */
  #keyOf(name: string): string | undefined {
    if (!name.startsWith(this.#prefix)) return undefined;
    const hex = name
      .slice(this.#prefix.length)
      .replaceAll(/_([0-9a-f]{2})|[^]/g, (character, code: string | undefined) =>
        (code ?? Buffer.from(character).toString("hex")).toLowerCase(),
      );
    const key = Buffer.from(hex, "hex").toString();
    return isStoreKey(key) && this.#nameOf(key) === name ? key : undefined;
  }
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  throw new UnsoundEntry("is neither text nor bytes");
}
