import { configError } from "../../errors/config-error.js";
import type { KeyValueStore } from "../key-value-store.js";
import { LangChainShelf, type LangChainStore } from "./langchain-driver.js";
import { LangGraphShelf, type LangGraphStore } from "./langgraph-driver.js";
import { DriverStore } from "../driver-store.js";
import { type NamespacedStoreOptions, resolveStoreOptions } from "../store-options.js";

export interface BaseStoreOptions extends NamespacedStoreOptions {
  /** What a LangChain store is given: bytes, as most of them take, or text. LangGraph's are not asked. */
  readonly values?: "bytes" | "text" | undefined;
}

/**
 * Entries in a store of LangChain (`mget`, `mset`, …) or LangGraph (`get`, `put`, …): both are called
 * `BaseStore`. It is not closed with this one. Neither removes what has expired; it counts as nothing.
 */
export function fromBaseStore(
  store: LangChainStore | LangGraphStore,
  options: BaseStoreOptions = {},
): KeyValueStore {
  const config = resolveStoreOptions("The store", options);
  if (hasMethods(store, ["mget", "mset", "mdelete", "yieldKeys"])) {
    const langchain = store as LangChainStore;
    return new DriverStore(
      new LangChainShelf(langchain, { config, values: options.values ?? "bytes" }),
      config,
    );
  }
  if (hasMethods(store, ["get", "put", "delete", "search"]))
    return new DriverStore(new LangGraphShelf(store as LangGraphStore, config), config);
  const message = "expected a BaseStore of @langchain/core/stores or of @langchain/langgraph";
  throw configError("The store", [{ path: "", message }]);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((name) => typeof Reflect.get(value, name) === "function");
}
