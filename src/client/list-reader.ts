import {
  type ParsedInfo,
  type McpPromptInfo,
  type McpResourceInfo,
  type McpResourceTemplateInfo,
  parsePromptInfo,
  parseResourceInfo,
  parseResourceTemplateInfo,
  type McpToolInfo,
  parseToolInfo,
} from "../config/server-features.js";
import { type Limits, SERVER_DEFAULTS } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { estimateJsonLength } from "../json/describe-value.js";
import { isPlainObject, type JsonObject, toObject } from "../json/json.js";
import {
  assertRequestOptions,
  LIST_TOOLS_OPTIONS,
  type ListToolsOptions,
  type RequestOptions,
} from "./call-options.js";
import type { RequestDependencies } from "./request-runner.js";
import { type McpSkillInfo, normalizeUri, parseSkillInfo, SKILLS_EXTENSION } from "./skills/skill-info.js";

/** Whether no caller waits for a list, so that requesting it must not start a login. */
export interface BackgroundOption {
  readonly isBackground?: boolean;
}

/** Always requests the list: some servers list tools without announcing the capability. */
export async function listTools(
  deps: RequestDependencies,
  options: ListToolsOptions,
  details: BackgroundOption = {},
): Promise<McpToolInfo[]> {
  assertRequestOptions(deps.server, options, LIST_TOOLS_OPTIONS);
  const { onTtl, ...requestOptions } = options;
  try {
    return await readList(deps, LIST_KINDS.tools, requestOptions, { onTtl, ...details });
  } catch (error) {
    if (isNotFound(error) && announcesNoTools(deps, options)) return [];
    throw error;
  }
}

/** Whether the session of this caller is with a server that has capabilities, but not that of tools. */
function announcesNoTools({ lifecycle, runner }: RequestDependencies, { context }: RequestOptions): boolean {
  try {
    const capabilities = lifecycle.sessionOf(runner.identityOf({ context }))?.metadata?.capabilities;
    return capabilities !== undefined && capabilities["tools"] === undefined;
  } catch {
    // `identity` is a function of the application.
    return false;
  }
}

/** Returns an empty list if the server does not support the method. */
export async function listOrEmpty<Item>(
  deps: RequestDependencies,
  kind: ListKind<Item>,
  options: RequestOptions,
): Promise<Item[]> {
  try {
    return await readList(deps, kind, options, { capability: kind.capability });
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/**
 * Reads all pages of a list, sorted by key. All or nothing: a list that cannot be read completely is an error, never a
 * shorter list. A single invalid item is skipped with a warning.
 */
async function readList<Item>(
  deps: RequestDependencies,
  kind: ListKind<Item>,
  options: RequestOptions,
  {
    capability,
    onTtl,
    isBackground = false,
  }: Pick<ListToolsOptions, "onTtl"> & BackgroundOption & { readonly capability?: string },
): Promise<Item[]> {
  const { server, events, lifecycle, runner } = deps;
  const remainingMs = startListTimeout(deps);
  const pages = new ListPages(server, kind);
  await runner.runOperation(options, async (send) => {
    let cursor: string | undefined;
    do {
      const page = await send(kind.method, cursor === undefined ? {} : { cursor }, {
        totalMs: remainingMs(),
        isIdempotent: true,
        // A start waits for a list: a server that does not respond would hold it for several `requestMs`.
        retriesTimeouts: false,
        isBackground,
        capability,
      });
      // Read after each page: the first request may resolve a dynamic server and with it other limits.
      cursor = pages.add(page, { cursor, limits: lifecycle.config.limits });
    } while (cursor !== undefined);
  });
  events.listWarnings.reset();
  for (const problem of pages.problems) events.listWarnings.warn(`Server "${server}": ${problem}`, events);
  if (pages.ttlMs !== undefined) onTtl?.(pages.ttlMs);
  return pages.toSorted();
}

/** The pages of one list. All but the last are together limited like one response. */
class ListPages<Item> {
  /** Items that were skipped, and warnings about others. */
  readonly problems: string[] = [];
  readonly #server: string;
  readonly #kind: ListKind<Item>;
  readonly #itemsById = new Map<string, Item>();
  readonly #cursors = new Set<string>();
  #ttlMs: number | undefined;
  #pageCount = 0;
  #itemCount = 0;
  #charCount = 0;

  constructor(server: string, kind: ListKind<Item>) {
    this.#server = server;
    this.#kind = kind;
  }

  /** The lifetime of a list is the shortest lifetime of its pages. */
  get ttlMs(): number | undefined {
    return this.#ttlMs;
  }

  toSorted(): Item[] {
    const { idOf } = this.#kind;
    return [...this.#itemsById.values()].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  }

  /** Adds the page that was requested with `cursor`. Returns the cursor of the next one, or `undefined` at the end. */
  add(
    page: unknown,
    { cursor, limits }: { readonly cursor: string | undefined; readonly limits: Limits },
  ): string | undefined {
    const { method, itemName, key, limit } = this.#kind;
    const items = isPlainObject(page) ? page[key] : undefined;
    if (!isPlainObject(page) || !Array.isArray(items))
      throw this.#createError("invalid-response", `responded to ${method} without an array of ${itemName}s`);
    // A server that ignores an empty cursor sends the first page again.
    if (cursor === "" && items.every((item) => this.#isKnown(item))) return undefined;
    this.#pageCount += 1;
    this.#itemCount += items.length;
    if (this.#itemCount > limits[limit])
      throw this.#createError("too-large", `lists more than ${limits[limit]} ${itemName}s (limits.${limit})`);
    const { ttlMs } = page;
    if (typeof ttlMs === "number" && ttlMs >= 0) this.#ttlMs = Math.min(this.#ttlMs ?? ttlMs, ttlMs);
    const knownItems = this.#itemsById.size;
    for (const item of items) this.#addItem(item);
    const nextCursor = this.#readCursor(page, { hasNewItems: this.#itemsById.size > knownItems });
    if (nextCursor !== undefined) this.#limitPages(page, limits);
    return nextCursor;
  }

  #readCursor(page: JsonObject, { hasNewItems }: { readonly hasNewItems: boolean }): string | undefined {
    const { method } = this.#kind;
    const { nextCursor } = page;
    if (nextCursor === undefined || nextCursor === null) return undefined;
    // A cursor that is not a string must not be mistaken for the end of the list.
    if (typeof nextCursor !== "string")
      throw this.#createError("invalid-response", `sent a cursor of ${method} that is not a string`);
    // A server may send the same cursor with every page: the list goes on while a page has new items.
    if (this.#cursors.has(nextCursor) && !hasNewItems) {
      // Some servers end a list with an empty cursor.
      if (nextCursor === "") return undefined;
      throw this.#createError("invalid-response", `repeated a cursor of ${method}: the list would never end`);
    }
    this.#cursors.add(nextCursor);
    return nextCursor;
  }

  #limitPages(page: JsonObject, limits: Limits): void {
    const { itemName } = this.#kind;
    const maxChars = Math.max(limits.responseBytes, MIN_LIST_CHARS);
    this.#charCount += estimateJsonLength(page, maxChars);
    if (this.#charCount > maxChars)
      throw this.#createError(
        "too-large",
        `lists ${itemName}s that are larger than one response may be. Raise limits.responseBytes`,
      );
    if (this.#pageCount >= limits.pages)
      throw this.#createError("too-large", `lists more than ${limits.pages} pages (limits.pages)`);
  }

  #isKnown(value: unknown): boolean {
    const parsed = this.#kind.parse(value);
    return "problem" in parsed || this.#itemsById.has(this.#kind.idOf(parsed.item));
  }

  #addItem(value: unknown): void {
    const { itemName, parse, idOf } = this.#kind;
    const parsed = parse(value);
    if ("problem" in parsed) {
      this.problems.push(`${describeItem(value, itemName)} ${parsed.problem} and is skipped.`);
      return;
    }
    const id = idOf(parsed.item);
    if (this.#itemsById.has(id)) {
      this.problems.push(`${itemName} "${excerpt(id)}" is listed twice; the first one is used.`);
      return;
    }
    this.#itemsById.set(id, parsed.item);
    if (parsed.warning !== undefined)
      this.problems.push(`${describeItem(value, itemName)} ${parsed.warning}.`);
  }

  #createError(failure: "invalid-response" | "too-large", problem: string): McpRuntimeError {
    return new McpRuntimeError(failure, `Server "${this.#server}" ${problem}.`, { server: this.#server });
  }
}

function describeItem(value: unknown, itemName: string): string {
  const { name, uri, uriTemplate } = toObject(value);
  const label = [name, uri, uriTemplate]
    .filter((text) => typeof text === "string")
    .find((text) => text !== "");
  return label === undefined ? `a ${itemName}` : `${itemName} "${excerpt(label)}"`;
}

/** All pages of a list share one total timeout; 0 means no timeout. */
export function startListTimeout({
  clock,
  lifecycle,
}: Pick<RequestDependencies, "clock" | "lifecycle">): () => number {
  const startedAt = clock.now();
  const { totalMs } = lifecycle.config.timeouts;
  return () => (totalMs === 0 ? 0 : Math.max(1, totalMs - (clock.now() - startedAt)));
}

function isNotFound(error: unknown): boolean {
  return error instanceof McpRuntimeError && error.kind === "not-found";
}

/** Describes a kind of item that servers list. */
interface ListKind<Item> {
  readonly method: string;
  /** The key of the items in a page. */
  readonly key: string;
  /** The singular name of an item, for messages. */
  readonly itemName: string;
  /** The capability of servers that have such items. */
  readonly capability: string;
  /** The limit on the number of items. */
  readonly limit: "tools" | "resources" | "prompts" | "skills";
  readonly parse: (value: unknown) => ParsedInfo<Item>;
  /** The unique key of an item; the list is sorted by it. */
  readonly idOf: (item: Item) => string;
}

/** A lower `limits.responseBytes` is about single pages. */
const MIN_LIST_CHARS = SERVER_DEFAULTS.limits.responseBytes;

/** All kinds of items that servers list. */
export const LIST_KINDS = {
  tools: {
    method: "tools/list",
    key: "tools",
    itemName: "tool",
    capability: "tools",
    limit: "tools",
    parse: parseToolInfo,
    idOf: ({ name }) => name,
  } satisfies ListKind<McpToolInfo>,
  resources: {
    method: "resources/list",
    key: "resources",
    itemName: "resource",
    capability: "resources",
    limit: "resources",
    parse: parseResourceInfo,
    idOf: ({ uri }) => uri,
  } satisfies ListKind<McpResourceInfo>,
  resourceTemplates: {
    method: "resources/templates/list",
    key: "resourceTemplates",
    itemName: "resource template",
    capability: "resources",
    limit: "resources",
    parse: parseResourceTemplateInfo,
    idOf: ({ uriTemplate }) => uriTemplate,
  } satisfies ListKind<McpResourceTemplateInfo>,
  prompts: {
    method: "prompts/list",
    key: "prompts",
    itemName: "prompt",
    capability: "prompts",
    limit: "prompts",
    parse: parsePromptInfo,
    idOf: ({ name }) => name,
  } satisfies ListKind<McpPromptInfo>,
  skills: {
    method: "skills/list",
    key: "skills",
    itemName: "skill",
    capability: SKILLS_EXTENSION,
    limit: "skills",
    parse: parseSkillInfo,
    idOf: ({ uri }) => normalizeUri(uri) ?? uri,
  } satisfies ListKind<McpSkillInfo>,
} as const;
