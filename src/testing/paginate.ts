import type { JsonObject } from "../json/json.js";

/** How a list is answered: all at once, in pages, with cursors that never end or come back, or with a page that fails. */
export type Pagination =
  | { readonly type: "none" }
  | { readonly type: "pages"; readonly size: number; readonly failingPage?: number }
  | { readonly type: "endless" }
  | { readonly type: "repeated-cursor" };

interface ListedItems {
  /** The key of a page under which they are. */
  readonly key: string;
  readonly items: readonly unknown[];
  /** One more, where the list has no end. */
  readonly extra: (position: number) => JsonObject;
}

export function paginate(
  { key, items, extra: another }: ListedItems,
  listing: Pagination,
  cursor: string | undefined,
): JsonObject {
  const position = Number(cursor ?? 0);
  switch (listing.type) {
    case "none":
      return { [key]: items };
    case "endless":
      return { [key]: [another(position)], nextCursor: String(position + 1) };
    case "repeated-cursor":
      return { [key]: items, nextCursor: "1" };
    case "pages": {
      if (position / listing.size + 1 === listing.failingPage) throw new Error("This page cannot be read.");
      const next = position + listing.size;
      const more = next < items.length ? { nextCursor: String(next) } : {};
      return { [key]: items.slice(position, next), ...more };
    }
  }
}
