import type { JsonValue } from "../json/json.js";

export interface StoreCallOptions {
  /** Ends the wait at once, with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface StoreSetOptions extends StoreCallOptions {
  /** After so long the entry is gone; without it, it stays. */
  readonly ttlMs?: number | undefined;
}

/**
 * A place to keep JSON under a name, in this process or for many of them.
 *
 * An entry is written as a whole or not at all, and the last writer wins: who needs to know whether
 * another was first reads again. A place that fails rejects with an `McpRuntimeError` within a bounded
 * time, and works again when the place does; a write that was cut off may still have happened.
 */
export interface KeyValueStore extends AsyncDisposable {
  /**
   * What was set. `undefined` when there is nothing, when it has expired, and when what is there cannot
   * be trusted: others can write there, too.
   */
  get(key: string, options?: StoreCallOptions): Promise<JsonValue | undefined>;
  /** Keeps a copy of any JSON value. */
  set(key: string, value: unknown, options?: StoreSetOptions): Promise<void>;
  delete(key: string, options?: StoreCallOptions): Promise<void>;
  /** The keys that begin with `prefix`, in order. One of them may be gone by the time it is read. */
  list(prefix: string, options?: StoreCallOptions): Promise<string[]>;
  /**
   * Tells the key that another user of the same place has set or deleted, where the place can tell;
   * `undefined` when changes may have gone unnoticed, as after a lost connection. Comes back when it
   * listens, or after the store's time limit: it then begins to listen by itself as soon as it can, and
   * tells `undefined`. The function that comes back ends it.
   */
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  /** Ends what is under way (kind `closed`) and every connection that the store has made. */
  close(): Promise<void>;
}
