import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ParsedItem } from "../config/resource-info.js";
import type { Limits } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";

/** A kind of thing that servers list. */
export interface ListKind<Item> {
  readonly method: string;
  /** The key of a page under which its items are. */
  readonly key: string;
  /** What one of them is called. */
  readonly noun: string;
  /** The capability they belong to; also the name of the limit on their number. */
  readonly capability: "tools" | "resources" | "prompts";
  readonly parse: (value: unknown) => ParsedItem<Item>;
  /** What it is known by: items are told apart and put in order by it. */
  readonly idOf: (item: Item) => string;
}

export interface ReadPagesOptions {
  readonly server: string;
  /** Asked after each page: the first one may have to find the server, and its limits with it. */
  readonly limits: () => Limits;
  readonly requestPage: (params: JsonObject) => Promise<unknown>;
  readonly warn: (message: string) => void;
  readonly onTimeToLive?: ((ttlMs: number) => void) | undefined;
}

/**
 * All pages of a list, in the order of what its items are known by. All or nothing: a list that cannot
 * be read to its end is an error, never a shorter list. One item that cannot be used costs only itself.
 */
export async function readPages<Item>(kind: ListKind<Item>, options: ReadPagesOptions): Promise<Item[]> {
  const { requestPage } = options;
  const found = new Map<string, Item>();
  const problems: string[] = [];
  let seen = 0;
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await requestPage(cursor === undefined ? {} : { cursor });
    const limits = options.limits();
    const items = isPlainObject(page) ? page[kind.key] : undefined;
    if (!isPlainObject(page) || !Array.isArray(items))
      throw malformed(options, `answered ${kind.method} without a list of ${kind.noun}s`);
    seen += items.length;
    if (seen > limits[kind.capability]) throw tooMany(options, `${kind.noun}s`, kind.capability);
    ttlMs = shorter(ttlMs, page["ttlMs"]);
    for (const item of items) problems.push(...take(item, found, kind));
    cursor = nextCursor(page["nextCursor"], kind.method, options);
    if (cursor === undefined) {
      warnOf(problems, kind, options);
      if (ttlMs !== undefined) options.onTimeToLive?.(ttlMs);
      return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
    }
    if (cursors.has(cursor))
      throw malformed(options, `repeats a cursor of ${kind.method}: its list has no end`);
    cursors.add(cursor);
    if (pages >= limits.pages) throw tooMany(options, "pages", "pages");
  }
}

/** A list stays as long as the page of it that stays shortest. */
function shorter(ttlMs: number | undefined, said: unknown): number | undefined {
  return typeof said === "number" && said >= 0 ? Math.min(ttlMs ?? said, said) : ttlMs;
}

/** A cursor is a text. One that is something else must not pass for the end of the list. */
function nextCursor(value: unknown, method: string, options: ReadPagesOptions): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw malformed(options, `gave a cursor of ${method} that is no text`);
}

/** What is wrong with it, if it cannot be taken. */
function take<Item>(value: unknown, found: Map<string, Item>, kind: ListKind<Item>): string[] {
  const parsed = kind.parse(value);
  if ("problem" in parsed) return [`${labelOf(value, kind)} ${parsed.problem} and is left out.`];
  const id = kind.idOf(parsed.item);
  if (found.has(id)) return [`${kind.noun} "${quoteServer(id)}" is listed twice; the first one counts.`];
  found.set(id, parsed.item);
  return [];
}

function labelOf(value: unknown, { noun }: { readonly noun: string }): string {
  const { name, uri, uriTemplate } = isPlainObject(value) ? value : {};
  const label = [name, uri, uriTemplate]
    .filter((text) => typeof text === "string")
    .find((text) => text !== "");
  return label === undefined ? `a ${noun}` : `${noun} "${quoteServer(label)}"`;
}

const MOST_WARNINGS = 10;

function warnOf(
  problems: readonly string[],
  { noun }: { readonly noun: string },
  { server, warn }: ReadPagesOptions,
): void {
  for (const problem of problems.slice(0, MOST_WARNINGS)) warn(`Server "${server}": ${problem}`);
  const more = problems.length - MOST_WARNINGS;
  if (more > 0) warn(`Server "${server}": ${more} more of its ${noun}s cannot be used.`);
}

function malformed({ server }: ReadPagesOptions, what: string): McpRuntimeError {
  return new McpRuntimeError("invalid-response", `Server "${server}" ${what}.`, { server });
}

function tooMany(
  { limits, server }: ReadPagesOptions,
  what: string,
  limit: "pages" | ListKind<unknown>["capability"],
): McpRuntimeError {
  const text = `Server "${server}" lists more than ${limits()[limit]} ${what} (limits.${limit}).`;
  return new McpRuntimeError("too-large", text, { server });
}
