import type { CancelScope } from "../../async/cancel-scope.js";
import { isPlainObject } from "../../json/json.js";
import type { StoreSpec } from "../store-options.js";
import { decodeHeader, hasExpired } from "../stored-record.js";
import { type ShelfEntry, type StoreDriver, UnsoundEntry } from "../store-driver.js";

interface LangGraphItem {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: object;
}

/** A `BaseStore` of `@langchain/langgraph`, by its shape. */
export interface LangGraphStore {
  get(namespace: string[], key: string): Promise<LangGraphItem | null>;
  put(namespace: string[], key: string, value: Record<string, string>, index: false): Promise<void>;
  delete(namespace: string[], key: string): Promise<void>;
  search(
    namespace: string[],
    options: { readonly limit: number; readonly offset: number },
  ): Promise<readonly LangGraphItem[]>;
}

const PAGE = 100;

export class LangGraphShelf implements StoreDriver {
  readonly name = "the LangGraph store";
  readonly secrets = [];
  readonly #store: LangGraphStore;
  readonly #spec: StoreSpec;

  constructor(store: LangGraphStore, config: StoreSpec) {
    this.#store = store;
    this.#spec = config;
  }

  async read(key: string): Promise<string | undefined> {
    const item = await this.#store.get(this.#namespace(), key);
    if (item === undefined || item === null) return undefined;
    const text = textOf(item);
    if (text === undefined) throw new UnsoundEntry("is not in the format of this package");
    return text;
  }

  async write({ key, text }: ShelfEntry): Promise<void> {
    await this.#store.put(this.#namespace(), key, { record: text }, false);
  }

  async remove(key: string): Promise<void> {
    await this.#store.delete(this.#namespace(), key);
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const keys = new Set<string>();
    for (let offset = 0, isLast = false; !isLast; offset += PAGE) {
      cancellation.throwIfCancelled();
      const page = await this.#store.search(this.#namespace(), { limit: PAGE, offset });
      for (const item of page) if (item.key.startsWith(prefix) && this.#isLive(item)) keys.add(item.key);
      isLast = page.length < PAGE;
    }
    return [...keys];
  }

  async close(): Promise<void> {
    // The store belongs to whoever made it.
  }

  #namespace(): string[] {
    return [this.#spec.namespace];
  }

  /** Also finds what lies in namespaces below ours, which is somebody else's. */
  #isLive(item: LangGraphItem): boolean {
    const header = decodeHeader(textOf(item) ?? "");
    return item.namespace.length === 1 && header?.key === item.key && !hasExpired(header, this.#spec.now());
  }
}

function textOf({ value }: LangGraphItem): string | undefined {
  const text = isPlainObject(value) ? value["record"] : undefined;
  return typeof text === "string" ? text : undefined;
}
