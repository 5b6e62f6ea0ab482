import { isLargerThan } from "../json/describe-value.js";
import type { CachedToolList } from "./tool-list-store.js";

/** A listing in progress. */
interface Listing {
  /** The list is received, checked and cached, or the request has failed. */
  readonly fetched: Promise<CachedToolList>;
  /** The list is written to the store, too. */
  readonly stored: Promise<CachedToolList>;
  /** The list was invalidated since the request was sent, so the response may lack the latest change. */
  isOutdated: boolean;
  /** No caller waited for it when it was started. */
  readonly isBackground: boolean;
}

/** The definitions of many tools have fewer characters. */
const LARGE_LIST_CHARS = 1_048_576;

/** The cached list of one identity. */
export class CatalogEntry {
  readonly identity: string;
  list: CachedToolList | undefined;
  #measured: { readonly list: CachedToolList | undefined; readonly isLarge: boolean } | undefined;
  /** The list was reported as outdated. */
  isInvalidated = false;
  /** When that was (Unix time in milliseconds). */
  invalidatedAt = Number.NEGATIVE_INFINITY;
  listing: Listing | undefined;
  /** The listing that follows the one in progress. */
  nextListing: Promise<CachedToolList> | undefined;
  /** No caller waits for that one. */
  isNextInBackground = false;
  /** Resolves when all lists are written to the store, in order. Never rejects. */
  writing: Promise<void> = Promise.resolve();
  /** The store was read, and has reported no change since. */
  storeWasRead = false;
  /** Its key in the store, once that has reported a change. */
  storeKey: string | undefined;
  /** When another process has last written the list to the store (Unix time in milliseconds). */
  storeChangedAt = Number.NEGATIVE_INFINITY;
  /** Ends the wait for a change of the store. */
  wake: (() => void) | undefined;
  /** When the last listing started, in clock time. */
  lastAttemptAt = Number.NEGATIVE_INFINITY;
  /** The last listing started by `mustRefetch`. */
  recheck: { readonly startedAt: number; readonly listing: Promise<CachedToolList> } | undefined;

  constructor(identity: string) {
    this.identity = identity;
  }

  /** Whether the list is much larger than usual. */
  get isLarge(): boolean {
    const { list } = this;
    if (this.#measured?.list !== list)
      this.#measured = { list, isLarge: isLargerThan(list?.tools, LARGE_LIST_CHARS) };
    return this.#measured?.isLarge === true;
  }

  /** Frees the memory of the list. What is known about the server stays: whether it has announced a change, above all. */
  dropList(): void {
    this.list = undefined;
    this.#measured = undefined;
    this.recheck = undefined;
    this.lastAttemptAt = Number.NEGATIVE_INFINITY;
  }

  invalidate(now: number): void {
    this.isInvalidated = true;
    this.invalidatedAt = now;
    if (this.listing !== undefined) this.listing.isOutdated = true;
    this.lastAttemptAt = Number.NEGATIVE_INFINITY;
    this.recheck = undefined;
  }
}

/** How many identities are cached. */
const MAX_ENTRIES = 1_000;

/** Removes the least recently used entry, which is the first one, if there are too many. */
export function evictOldestEntry(entries: Map<string, CatalogEntry>): void {
  const [oldest] = entries.keys();
  if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
}

/** How many large lists are cached: the server decides how large its lists are. */
const MAX_LARGE_LISTS = 16;

/** Drops the large lists of the least recently used entries, which are the first ones. */
export function evictLargeLists(entries: ReadonlyMap<string, CatalogEntry>): void {
  if (entries.size <= MAX_LARGE_LISTS) return;
  const large = [...entries.values()].filter(({ isLarge }) => isLarge);
  for (const entry of large.slice(0, -MAX_LARGE_LISTS)) entry.dropList();
}
