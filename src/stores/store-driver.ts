import type { CancelScope } from "../async/cancel-scope.js";

export interface ShelfEntry {
  readonly key: string;
  readonly text: string;
  readonly ttlMs: number | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

/**
 * What a place has to do to become a store: keep texts. Keys, values, time limits and failures are
 * taken care of above it.
 */
export interface StoreDriver {
  /** In messages: `the Redis store at localhost:6379`. */
  readonly name: string;
  /** Never to be seen in a message. */
  readonly secrets: readonly string[];
  /** Throws an `UnsoundEntry` for what is there and cannot be an entry. */
  read(key: string, cancellation: CancelScope): Promise<string | undefined>;
  write(entry: ShelfEntry, cancellation: CancelScope): Promise<void>;
  remove(key: string, cancellation: CancelScope): Promise<void>;
  /** In any order. */
  list(prefix: string, cancellation: CancelScope): Promise<string[]>;
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Something lies where an entry should be: too large, of another type. It counts as nothing. */
export class UnsoundEntry extends Error {
  override readonly name = "UnsoundEntry";
}
