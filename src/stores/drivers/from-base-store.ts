import { configError } from "../../errors/config-error.js";
import type { KeyValueStore } from "../key-value-store.js";
import { LangChainDriver, type LangChainStore } from "./langchain-driver.js";
import { LangGraphDriver, type LangGraphStore } from "./langgraph-driver.js";
import { DriverStore } from "../driver-store.js";
import { type NamespacedStoreOptions, resolveStoreOptions } from "../store-options.js";

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
  const config = resolveStoreOptions("The store", options);
  if (hasMethods(store, ["mget", "mset", "mdelete", "yieldKeys"])) {
    const langchain = store as LangChainStore;
    return new DriverStore(
      new LangChainDriver(langchain, { config, values: options.values ?? "bytes" }),
      config,
    );
  }
  if (hasMethods(store, ["get", "put", "delete", "search"]))
    return new DriverStore(new LangGraphDriver(store as LangGraphStore, config), config);
  const message = "expected a BaseStore of @langchain/core/stores or of @langchain/langgraph";
  throw configError("The store", [{ path: "", message }]);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((name) => typeof Reflect.get(value, name) === "function");
}
