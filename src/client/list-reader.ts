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
import { SERVER_DEFAULTS } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { estimateJsonLength } from "../json/describe-value.js";
import { isPlainObject, toObject } from "../json/json.js";
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
    // The identity is computed by code of the application.
    if (!isNotFound(error)) throw error;
    const identity = deps.runner.identityOf({ context: options.context });
    const capabilities = deps.lifecycle.sessionOf(identity)?.metadata?.capabilities;
    if (capabilities !== undefined && capabilities["tools"] === undefined) return [];
    throw error;
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
 * Reads all pages of a list, sorted by key. All pages but the last are together limited like one response. All or
 * nothing: a list that cannot be read completely is an error, never a shorter list. A single invalid item is skipped
 * with a warning.
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
  const { method, itemName } = kind;
  const remainingMs = startListTimeout(deps);
  const itemsById = new Map<string, Item>();
  const problems: string[] = [];
  const cursors = new Set<string>();
  let itemCount = 0;
  let charCount = 0;
  let ttlMs: number | undefined;
  const createError = (failure: "invalid-response" | "too-large", problem: string) =>
    new McpRuntimeError(failure, `Server "${server}" ${problem}.`, { server });
  await runner.runOperation(options, async (send) => {
    let cursor: string | undefined;
    for (let pages = 1; ; pages += 1) {
      const page = await send(method, cursor === undefined ? {} : { cursor }, {
        totalMs: remainingMs(),
        isIdempotent: true,
        isBackground,
        capability,
      });
      // Read after each page: the first request may resolve a dynamic server and with it other limits.
      const { limits } = lifecycle.config;
      const items = isPlainObject(page) ? page[kind.key] : undefined;
      if (!isPlainObject(page) || !Array.isArray(items))
        throw createError("invalid-response", `responded to ${method} without an array of ${itemName}s`);
      // A server that ignores an empty cursor sends the first page again.
      if (cursor === "" && items.every((item) => isKnown(item, itemsById, kind))) return;
      itemCount += items.length;
      if (itemCount > limits[kind.limit])
        throw createError(
          "too-large",
          `lists more than ${limits[kind.limit]} ${itemName}s (limits.${kind.limit})`,
        );
      ttlMs = minTtl(ttlMs, page["ttlMs"]);
      const knownItems = itemsById.size;
      for (const item of items) {
        const problem = addItem(item, itemsById, kind);
        if (problem !== undefined) problems.push(problem);
      }
      const { nextCursor } = page;
      if (nextCursor === undefined || nextCursor === null) return;
      // A cursor that is not a string must not be mistaken for the end of the list.
      if (typeof nextCursor !== "string")
        throw createError("invalid-response", `sent a cursor of ${method} that is not a string`);
      cursor = nextCursor;
      // A server may send the same cursor with every page: the list goes on while a page has new items.
      if (cursors.has(cursor) && itemsById.size === knownItems) {
        // Some servers end a list with an empty cursor.
        if (cursor === "") return;
        throw createError("invalid-response", `repeated a cursor of ${method}: the list would never end`);
      }
      cursors.add(cursor);
      const maxChars = Math.max(limits.responseBytes, MIN_LIST_CHARS);
      charCount += estimateJsonLength(page, maxChars);
      if (charCount > maxChars)
        throw createError(
          "too-large",
          `lists ${itemName}s that are larger than one response may be. Raise limits.responseBytes`,
        );
      if (pages >= limits.pages)
        throw createError("too-large", `lists more than ${limits.pages} pages (limits.pages)`);
    }
  });
  events.listWarnings.reset();
  for (const problem of problems) events.listWarnings.warn(`Server "${server}": ${problem}`, events);
  if (ttlMs !== undefined) onTtl?.(ttlMs);
  return [...itemsById.values()].toSorted((a, b) => (kind.idOf(a) < kind.idOf(b) ? -1 : 1));
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

/** The lifetime of a list is the shortest lifetime of its pages. */
function minTtl(ttlMs: number | undefined, pageTtlMs: unknown): number | undefined {
  return typeof pageTtlMs === "number" && pageTtlMs >= 0 ? Math.min(ttlMs ?? pageTtlMs, pageTtlMs) : ttlMs;
}

function isKnown<Item>(value: unknown, itemsById: ReadonlyMap<string, Item>, kind: ListKind<Item>): boolean {
  const parsed = kind.parse(value);
  return "problem" in parsed || itemsById.has(kind.idOf(parsed.item));
}

/** Adds an item. Returns why it was skipped, or a warning about it. */
function addItem<Item>(
  value: unknown,
  itemsById: Map<string, Item>,
  kind: ListKind<Item>,
): string | undefined {
  const parsed = kind.parse(value);
  if ("problem" in parsed) return `${describeItem(value, kind)} ${parsed.problem} and is skipped.`;
  const id = kind.idOf(parsed.item);
  if (itemsById.has(id)) return `${kind.itemName} "${excerpt(id)}" is listed twice; the first one is used.`;
  itemsById.set(id, parsed.item);
  return parsed.warning === undefined ? undefined : `${describeItem(value, kind)} ${parsed.warning}.`;
}

function describeItem(value: unknown, { itemName }: { readonly itemName: string }): string {
  const { name, uri, uriTemplate } = toObject(value);
  const label = [name, uri, uriTemplate]
    .filter((text) => typeof text === "string")
    .find((text) => text !== "");
  return label === undefined ? `a ${itemName}` : `${itemName} "${excerpt(label)}"`;
}

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
