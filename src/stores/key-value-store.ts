import type { JsonValue } from "../json/json.js";

/** Options of every store operation. */
export interface StoreCallOptions {
  /** Cancels the operation; the promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `KeyValueStore.set`. */
export interface StoreSetOptions extends StoreCallOptions {
  /**
   * Time to live of the entry.
   * @default the entry does not expire
   */
  readonly ttlMs?: number | undefined;
}

/**
 * Stores JSON values by key, in this process or shared by many processes.
 *
 * Writes are atomic and the last writer wins; there is no compare-and-set. When the backend fails, an
 * operation rejects with an `McpRuntimeError` within a bounded time, and works again as soon as the backend
 * does. A write that timed out may still have been applied.
 */
export interface KeyValueStore extends AsyncDisposable {
  /**
   * Returns the value of a key. Returns `undefined` if there is no entry, if it has expired, or if it was
   * not written in the format of this package.
   *
   * @throws McpRuntimeError `unavailable`, `timeout`, `closed`, `invalid-config` (invalid key)
   */
  get(key: string, options?: StoreCallOptions): Promise<JsonValue | undefined>;
  /**
   * Stores a copy of a JSON value.
   *
   * @throws McpRuntimeError `unavailable`, `timeout`, `closed`, `too-large`, `invalid-config` (not JSON, invalid key)
   */
  set(key: string, value: unknown, options?: StoreSetOptions): Promise<void>;
  /** Deletes an entry. Succeeds if there is none. */
  delete(key: string, options?: StoreCallOptions): Promise<void>;
  /** Returns the keys that start with `prefix`, sorted. An entry may be deleted before it is read. */
  list(prefix: string, options?: StoreCallOptions): Promise<string[]>;
  /**
   * Calls the listener with each key that another client of the same backend sets or deletes, if the
   * backend supports it, and with `undefined` when changes may have been missed (after a lost connection).
   * Resolves once subscribed, or after the time limit of the store; it then keeps trying in the background
   * and calls the listener with `undefined` when subscribed. Returns a function that unsubscribes.
   */
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  /** Rejects operations in progress with kind `closed` and closes every connection that the store opened. */
  close(): Promise<void>;
}
