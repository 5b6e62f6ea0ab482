import { setImmediate } from "node:timers/promises";
import type { CancelScope } from "../async/cancel-scope.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** More keys, or pages, are not held in memory. */
const MAX_ITEMS = 1_000_000;
const MAX_PAGES = 100_000;

/** Bounds a listing: a backend may return pages without end, and without I/O, so that no time limit could expire. */
export class ListingLimit {
  readonly #cancellation: CancelScope;
  #items = 0;
  #pages = 0;

  constructor(cancellation: CancelScope) {
    this.#cancellation = cancellation;
  }

  /**
   * Counts a page, and lets timers run before the next one.
   *
   * @throws McpRuntimeError kind `too-large`; the reason of the cancellation
   */
  async addPage(items: number): Promise<void> {
    this.#items += items;
    this.#pages += 1;
    if (this.#items > MAX_ITEMS || this.#pages > MAX_PAGES) {
      const text = `The store has too much to list: more than ${MAX_ITEMS} entries or ${MAX_PAGES} pages. Use another namespace.`;
      throw new McpRuntimeError("too-large", text);
    }
    await setImmediate();
    this.#cancellation.throwIfCancelled();
  }
}
