import type { JsonValue } from "../json/json.js";
import { hasMethods } from "../config/parse-options.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";

/** Options of every store operation. */
export interface StoreCallOptions {
  /**
   * Cancels the operation; the promise rejects with the reason of the signal.
   *
   * @default none
   */
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

/** Options of `KeyValueStore.lease`. */
export interface StoreLeaseOptions extends StoreCallOptions {
  /** After this time, another client can take the lease, unless it was renewed. */
  readonly ttlMs: number;
}

/** A lease that was taken with `KeyValueStore.lease`. */
export interface StoreLease {
  /**
   * Keeps the lease for another `ttlMs`. Returns false if it has expired: another client may have it.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`
   */
  renew(): Promise<boolean>;
  /**
   * Lets another client take the lease. Does nothing if it has expired, also if another client has it now.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`
   */
  release(): Promise<void>;
}

/**
 * Stores JSON values by key, in this process or shared by many processes.
 *
 * Writes are atomic and the last writer wins; there is no compare-and-set. When the backend fails, an
 * operation rejects with an `McpRuntimeError` within a bounded time, and works again as soon as the backend
 * does. A write that timed out may still have been applied.
 *
 * A store of your own need not have a time limit: an operation that does not settle within two seconds counts as
 * failed, its `signal` is aborted, and the store is not used for 30 seconds.
 */
export interface KeyValueStore extends AsyncDisposable {
  /**
   * Returns the value of a key. Returns `undefined` if there is no entry, if it has expired, or if it was
   * not written in the format of this package.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`, `invalid-config` (invalid key)
   */
  get(key: string, options?: StoreCallOptions): Promise<JsonValue | undefined>;
  /**
   * Stores a copy of a JSON value.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`, `too-large`, `invalid-config` (not JSON, invalid key)
   */
  set(key: string, value: unknown, options?: StoreSetOptions): Promise<void>;
  /**
   * Deletes an entry. Succeeds if there is none.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`, `invalid-config` (invalid key)
   */
  delete(key: string, options?: StoreCallOptions): Promise<void>;
  /**
   * Returns the keys that start with `prefix`, sorted. An entry may be deleted before it is read.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`, `too-large` (more than a million entries),
   * `invalid-config` (invalid prefix)
   */
  list(prefix: string, options?: StoreCallOptions): Promise<string[]>;
  /**
   * Calls the listener with each key that another client of the same backend sets or deletes, if the
   * backend supports it, and with `undefined` when changes may have been missed (after a lost connection).
   * Resolves once subscribed, or after the time limit of the store; it then keeps trying in the background
   * and calls the listener with `undefined` when subscribed. Returns a function that unsubscribes.
   *
   * @throws McpRuntimeError `closed`, `invalid-config` (the package of the backend is missing)
   */
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  /**
   * Takes a lease, if the backend supports it: no other client gets one for the key until it is released or expires.
   * Returns `undefined` if another client has it. Use a key of its own: a lease is not an entry, and `watch` does not
   * report it.
   *
   * @throws McpRuntimeError `unavailable`, `unauthorized`, `timeout`, `closed`, `invalid-config` (invalid key)
   */
  lease?(key: string, options: StoreLeaseOptions): Promise<StoreLease | undefined>;
  /** Rejects operations in progress with kind `closed` and closes every connection that the store opened. */
  close(): Promise<void>;
}

/** Marks the stores of this package: their operations end within a time limit. A getter: copies are not marked. */
export const TIME_LIMITED = Symbol("time-limited");

/**
 * Validates what a store of an application returns for a lease: nothing means that another client has it.
 *
 * @throws TypeError if it is something else that is not a lease
 */
export function toLease(lease: unknown): StoreLease | undefined {
  if (lease === undefined || lease === null || lease === false) return undefined;
  if (hasMethods(lease, "renew", "release")) return lease as StoreLease;
  throw new TypeError(`The store returned ${describeValue(lease)} instead of a lease.`);
}

const MAX_KEY_BYTES = 512;
const MAX_QUOTE_LENGTH = 120;

export function isStoreKey(key: unknown): key is string {
  return typeof key === "string" && key !== "" && isStorePrefix(key);
}

/** Lone surrogates are encoded as the same bytes, so two different keys would collide. */
function isStorePrefix(prefix: string): boolean {
  return Buffer.byteLength(prefix) <= MAX_KEY_BYTES && !/\p{Surrogate}/u.test(prefix);
}

export function assertStoreKey(key: unknown): asserts key is string {
  if (!isStoreKey(key)) throw keyError("key", `1 to ${MAX_KEY_BYTES} bytes`, key);
}

export function assertStorePrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix !== "string" || !isStorePrefix(prefix))
    throw keyError("prefix", `at most ${MAX_KEY_BYTES} bytes`, prefix);
}

/** Quotes and truncates a key for a message. */
export function quoteKey(key: string): string {
  return JSON.stringify(key.length > MAX_QUOTE_LENGTH ? `${key.slice(0, MAX_QUOTE_LENGTH)}…` : key);
}

function keyError(what: string, size: string, value: unknown): Error {
  const message = `expected a string of ${size}, got ${describeValue(value)}`;
  return configError(`The ${what} for a store`, [{ path: "", message }]);
}
