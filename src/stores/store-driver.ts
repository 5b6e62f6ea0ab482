import type { CancelScope } from "../async/cancel-scope.js";

export interface DriverEntry {
  readonly key: string;
  readonly text: string;
  readonly ttlMs: number | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

/**
 * The backend of a `DriverStore`: stores strings. Validation, time limits and error translation are done
 * by `DriverStore`.
 */
export interface StoreDriver {
  /** For messages: `the Redis store at localhost:6379`. */
  readonly name: string;
  /** Redacted from error messages. */
  readonly secrets: readonly string[];
  /** Throws `InvalidEntryError` if something other than an entry is stored under the key. */
  read(key: string, cancellation: CancelScope): Promise<string | undefined>;
  write(entry: DriverEntry, cancellation: CancelScope): Promise<void>;
  remove(key: string, cancellation: CancelScope): Promise<void>;
  /** Returns the keys in any order. */
  list(prefix: string, cancellation: CancelScope): Promise<string[]>;
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The stored data is not a valid entry (too large, wrong type). Reads treat it as missing. */
export class InvalidEntryError extends Error {
  override readonly name = "InvalidEntryError";
}
