import type { CancelScope } from "../../async/cancel-scope.js";
import { isPlainObject } from "../../json/json.js";
import type { ResolvedStoreOptions } from "../store-options.js";
import { decodeHeader, hasExpired } from "../stored-record.js";
import { type DriverEntry, type StoreDriver, InvalidEntryError } from "../store-driver.js";

interface LangGraphItem {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: object;
}

/** The part of `BaseStore` of `@langchain/langgraph` that is used. */
export interface LangGraphStore {
  get(namespace: string[], key: string): Promise<LangGraphItem | null>;
  put(namespace: string[], key: string, value: Record<string, string>, index: false): Promise<void>;
  delete(namespace: string[], key: string): Promise<void>;
  search(
    namespace: string[],
    options: { readonly limit: number; readonly offset: number },
  ): Promise<readonly LangGraphItem[]>;
}

const PAGE_SIZE = 100;

export class LangGraphDriver implements StoreDriver {
  readonly name = "the LangGraph store";
  readonly secrets = [];
  readonly #store: LangGraphStore;
  readonly #options: ResolvedStoreOptions;

  constructor(store: LangGraphStore, config: ResolvedStoreOptions) {
    this.#store = store;
    this.#options = config;
  }

  async read(key: string): Promise<string | undefined> {
    const item = await this.#store.get(this.#namespace(), key);
    if (item === undefined || item === null) return undefined;
    const text = getText(item);
    if (text === undefined) throw new InvalidEntryError("is not in the format of this package");
    return text;
  }

  async write({ key, text }: DriverEntry): Promise<void> {
    await this.#store.put(this.#namespace(), key, { record: text }, false);
  }

  async remove(key: string): Promise<void> {
    await this.#store.delete(this.#namespace(), key);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys = new Set<string>();
    for (let offset = 0, isLast = false; !isLast; offset += PAGE_SIZE) {
      cancellation.throwIfCancelled();
      const page = await this.#store.search(this.#namespace(), { limit: PAGE_SIZE, offset });
      for (const item of page) if (item.key.startsWith(prefix) && this.#isLive(item)) keys.add(item.key);
      isLast = page.length < PAGE_SIZE;
    }
    return [...keys];
  }

  async close(): Promise<void> {
    // The store is owned by the caller.
  }

  #namespace(): string[] {
    return [this.#options.namespace];
  }

  /** A search also returns items of nested namespaces, which are skipped. */
  #isLive(item: LangGraphItem): boolean {
    const header = decodeHeader(getText(item) ?? "");
    return (
      item.namespace.length === 1 && header?.key === item.key && !hasExpired(header, this.#options.now())
    );
  }
}

function getText({ value }: LangGraphItem): string | undefined {
  const text = isPlainObject(value) ? value["record"] : undefined;
  return typeof text === "string" ? text : undefined;
}
