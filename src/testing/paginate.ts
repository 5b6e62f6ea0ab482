import type { JsonObject } from "../json/json.js";

/**
 * How a list is returned:
 * - `none`: in one response
 * - `pages`: in pages of `size` items; the request for `failingPage` (1-based) fails
 * - `endless`: with a new cursor on every page
 * - `repeated-cursor`: with the same cursor on every page
 */
export type Pagination =
  | { readonly type: "none" }
  | { readonly type: "pages"; readonly size: number; readonly failingPage?: number }
  | { readonly type: "endless" }
  | { readonly type: "repeated-cursor" };

interface ListedItems {
  /** The key of the list in the result. */
  readonly key: string;
  readonly items: readonly unknown[];
  /** Creates the item at a position of an endless list. */
  readonly extra: (position: number) => JsonObject;
}

export function paginate(
  { key, items, extra }: ListedItems,
  pagination: Pagination,
  cursor: string | undefined,
): JsonObject {
  const position = Number(cursor ?? 0);
  switch (pagination.type) {
    case "none":
      return { [key]: items };
    case "endless":
      return { [key]: [extra(position)], nextCursor: String(position + 1) };
    case "repeated-cursor":
      return { [key]: items, nextCursor: "1" };
    case "pages": {
      if (position / pagination.size + 1 === pagination.failingPage)
        throw new Error("This page cannot be read.");
      const next = position + pagination.size;
      const more = next < items.length ? { nextCursor: String(next) } : {};
      return { [key]: items.slice(position, next), ...more };
    }
  }
}
