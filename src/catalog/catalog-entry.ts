import type { CachedList } from "./cached-tool-list.js";

/** What is known of one identity's tools. */
export interface ListSlot {
  list: CachedList | undefined;
  /** Somebody said that the list is another one now. */
  isDirty: boolean;
  /** Counts what was said: a listing that began before is out of date when it ends. */
  invalidations: number;
  listing: Promise<CachedList> | undefined;
  /** Over when all that was listed is in the store, in its order. Never rejects. */
  writing: Promise<void>;
  /** The store was asked, and nobody has said since that it has another list. */
  isRead: boolean;
  reading: Promise<void> | undefined;
  /** When the last listing began, by the clock. */
  triedAt: number;
  /** The last listing for somebody who doubts the list. */
  doubt: { readonly askedAt: number; readonly listing: Promise<CachedList> } | undefined;
}

export function emptySlot(): ListSlot {
  return {
    list: undefined,
    isDirty: false,
    invalidations: 0,
    listing: undefined,
    writing: Promise.resolve(),
    isRead: false,
    reading: undefined,
    triedAt: Number.NEGATIVE_INFINITY,
    doubt: undefined,
  };
}
