import { deepFreeze, isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { sanitizeText, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { hasHiddenText } from "../json-schema/keywords.js";
import { isLargerThan } from "../json/describe-value.js";

/** Common fields of tools, resources, templates and prompts. */
interface BaseInfo {
  /** The display name; `undefined` if the server provides none. */
  readonly title?: string | undefined;
  /** The server's description of what it is for. */
  readonly description?: string | undefined;
  /** Icons for user interfaces, as sent by the server. */
  readonly icons?: readonly JsonObject[] | undefined;
  /** `_meta` as sent by the server. */
  readonly meta?: JsonObject | undefined;
}

/** A tool as listed by its server. */
export interface McpToolInfo extends BaseInfo {
  /** The name on the server, unchanged. */
  readonly name: string;
  /** The JSON Schema of the arguments, unchanged. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of `structuredContent`; `undefined` if the server provides none for an object. */
  readonly outputSchema?: JsonObject | undefined;
  /** Hints of the server about the behavior of the tool, such as `readOnlyHint`. They may be wrong. */
  readonly annotations?: JsonObject | undefined;
  /**
   * How the tool can be called as a task (2025-11-25); `undefined` if it cannot. Later servers decide for
   * each call.
   */
  readonly execution?: { readonly taskSupport: "optional" | "required" } | undefined;
}

/** Fields of resources and templates. Hidden characters are removed from texts. */
interface ContentInfo extends BaseInfo {
  /** The name for programs; the URI or the template when the server provides none. */
  readonly name: string;
  /** The MIME type of the content, if the server provides it. */
  readonly mimeType?: string | undefined;
  /** Hints of the server, such as `audience` and `priority`. */
  readonly annotations?: JsonObject | undefined;
}

/** A resource as listed by its server. */
export interface McpResourceInfo extends ContentInfo {
  /** The URI that `readResource` takes. */
  readonly uri: string;
  /** The size in bytes, before any encoding. */
  readonly size?: number | undefined;
}

/** A resource template as listed by its server: filling in the variables results in the URI of a resource. */
export interface McpResourceTemplateInfo extends ContentInfo {
  /** A URI template (RFC 6570): `file:///{path}`. */
  readonly uriTemplate: string;
}

/** An argument of a prompt. */
export interface McpPromptArgument extends Pick<BaseInfo, "title" | "description"> {
  /** The key in the arguments of `getPrompt`. */
  readonly name: string;
  /** Whether the prompt cannot be resolved without the argument. */
  readonly required: boolean;
}

/** A prompt as listed by its server. */
export interface McpPromptInfo extends BaseInfo {
  /** The name on the server, unchanged. */
  readonly name: string;
  /** The arguments that the prompt takes; empty if it takes none. */
  readonly arguments: readonly McpPromptArgument[];
}

/** A parsed list item with a warning about it, if there is any; or why it is invalid. */
export type ParsedInfo<Item> =
  | { readonly item: Item; readonly warning?: string | undefined }
  | { readonly problem: string };

/** Names are remembered beyond the list that they are from: by pins, for example. */
const MAX_NAME_CHARS = 1_024;

/** Lenient: invalid optional fields are dropped; only a tool that cannot be called is a problem. */
export function parseToolInfo(value: unknown): ParsedInfo<McpToolInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { name, title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (name.length > MAX_NAME_CHARS)
    return { problem: `has a name of more than ${MAX_NAME_CHARS} characters` };
  if (!isObjectSchema(inputSchema)) return { problem: "has no inputSchema that describes an object" };
  const optional: Partial<McpToolInfo> = {
    title:
      optionalString(title) ?? optionalString(isPlainObject(annotations) ? annotations["title"] : undefined),
    description: optionalString(description),
    outputSchema: isObjectSchema(outputSchema) ? outputSchema : undefined,
    annotations: optionalObject(annotations),
    execution: parseExecution(execution),
    icons: optionalObjects(icons),
    meta: optionalObject(_meta) ?? keepUi(_meta),
  };
  const item: Record<string, unknown> & McpToolInfo = { name, inputSchema };
  for (const key in optional) {
    const field = optional[key as keyof McpToolInfo];
    if (field !== undefined) item[key] = field;
  }
  return withWarning(item, value);
}

/** Call for the tools of a list, which all users of it share. `freezeIfListed` freezes their schemas. */
export function shareTools(tools: McpToolInfo[]): readonly McpToolInfo[] {
  for (const tool of tools) {
    const { annotations, icons, meta } = tool;
    if (annotations !== undefined || icons !== undefined || meta !== undefined)
      deepFreeze([annotations, icons, meta]);
    // The mark of a listed tool.
    Object.preventExtensions(tool);
  }
  return Object.freeze(tools);
}

/**
 * Freezes a listed tool before a user gets it: freezing the schemas of a whole list takes longer than parsing
 * them. The snapshots of an agent definition belong to the user, and stay as they are.
 */
export function freezeIfListed(tool: McpToolInfo): McpToolInfo {
  return Object.isExtensible(tool) ? tool : deepFreeze(tool);
}

/** Returns `_meta.ui` of a tool (MCP Apps); `undefined` if it has no user interface. */
export function getToolUi({ meta }: McpToolInfo): JsonObject | undefined {
  if (meta === undefined) return undefined;
  const { ui, "ui/resourceUri": resourceUri } = meta;
  if (isPlainObject(ui)) return ui;
  // The form of MCP Apps before 2026-01-26.
  return typeof resourceUri === "string" ? { resourceUri } : undefined;
}

/** False for the tools that only a user interface may call. MCP Apps forbids offering them to a model. */
export function isOfferedToModels(tool: McpToolInfo): boolean {
  const visibility = getToolUi(tool)?.["visibility"];
  return !Array.isArray(visibility) || visibility.includes("model");
}

/** SDK servers list "forbidden" for all other tools. */
function parseExecution(value: unknown): McpToolInfo["execution"] {
  const taskSupport = isPlainObject(value) ? value["taskSupport"] : undefined;
  return taskSupport === "optional" || taskSupport === "required" ? { taskSupport } : undefined;
}

function isObjectSchema(value: unknown): value is JsonObject {
  return isPlainObject(value) && (value["type"] === undefined || value["type"] === "object");
}

/** Lenient: invalid optional fields are dropped; only a resource without a usable URI is a problem. */
export function parseResourceInfo(value: unknown): ParsedInfo<McpResourceInfo> {
  const parsed = parseContentInfo(value, "uri");
  const size = isPlainObject(value) ? value["size"] : undefined;
  const hasSize = typeof size === "number" && size >= 0;
  return "item" in parsed && hasSize ? { ...parsed, item: { ...parsed.item, size } } : parsed;
}

export function parseResourceTemplateInfo(value: unknown): ParsedInfo<McpResourceTemplateInfo> {
  return parseContentInfo(value, "uriTemplate");
}

/** Parses an item that is identified by the URI or template in `key`. */
function parseContentInfo<Key extends "uri" | "uriTemplate">(
  value: unknown,
  key: Key,
): ParsedInfo<ContentInfo & Readonly<Record<Key, string>>> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { [key]: address, name, mimeType, annotations } = value;
  if (typeof address !== "string" || address === "") return { problem: `has no ${key}` };
  // URIs are ASCII and shown to models: hidden characters would be an attempt to deceive.
  if (stripHiddenCharacters(address) !== address) return { problem: `has hidden characters in its ${key}` };
  const id = { [key]: address } as Record<Key, string>;
  const optional = omitUndefined({
    mimeType: cleanString(mimeType),
    annotations: optionalObject(annotations),
  });
  const item = { ...id, name: cleanString(name) ?? address, ...parseBaseInfo(value), ...optional };
  return withWarning(item, value);
}

export function parsePromptInfo(value: unknown): ParsedInfo<McpPromptInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { name, arguments: promptArguments } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (promptArguments !== undefined && promptArguments !== null && !Array.isArray(promptArguments))
    return { problem: "has arguments that are not an array" };
  const parsedArguments = (promptArguments ?? []).flatMap(parsePromptArgument);
  // They are shown to people, and cannot be changed: the server would not know them.
  if ([name, ...parsedArguments.map((argument) => argument.name)].some(hasHiddenText))
    return { problem: "has hidden characters in its name or in that of an argument" };
  const item = { name, arguments: parsedArguments, ...parseBaseInfo(value) };
  return withWarning(item, { ...value, annotations: undefined });
}

function parsePromptArgument(value: unknown): McpPromptArgument[] {
  if (!isPlainObject(value) || typeof value["name"] !== "string") return [];
  const { title, description } = parseBaseInfo(value);
  const texts = omitUndefined({ title, description });
  return [{ name: value["name"], required: value["required"] === true, ...texts }];
}

function parseBaseInfo({ title, description, icons, _meta }: JsonObject): BaseInfo {
  return omitUndefined({
    title: cleanString(title),
    description: typeof description === "string" ? sanitizeText(description) : undefined,
    icons: optionalObjects(icons),
    meta: optionalObject(_meta),
  });
}

function cleanString(value: unknown): string | undefined {
  const text = typeof value === "string" ? sanitizeText(value) : "";
  return text === "" ? undefined : text;
}

function optionalString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * The limit for one field of an item that is kept as sent. Copying and freezing many values would take too
 * long.
 */
const MAX_FIELD_CHARS = 1_048_576;

/** Adds a warning if fields of an item were too large to be kept. */
function withWarning<Item extends BaseInfo & Pick<McpToolInfo, "annotations">>(
  item: Item,
  { annotations, icons, _meta }: JsonObject,
): ParsedInfo<Item> {
  const dropped = [
    isPlainObject(annotations) && item.annotations === undefined ? ["annotations"] : [],
    Array.isArray(icons) && item.icons === undefined ? ["icons"] : [],
    isPlainObject(_meta) && item.meta !== _meta ? ["_meta"] : [],
  ].flat();
  if (dropped.length === 0) return { item };
  const fields = dropped.join(" and ");
  return { item, warning: `has more than ${MAX_FIELD_CHARS} characters of ${fields}, which are not used` };
}

/**
 * Keeps who may see the tool of a `_meta` that is too large: without it, models would see a tool that is not
 * for them.
 */
function keepUi(meta: unknown): JsonObject | undefined {
  const { ui } = isPlainObject(meta) ? meta : {};
  const { visibility } = isPlainObject(ui) ? ui : {};
  return visibility === undefined ? undefined : { ui: { visibility: optionalTexts(visibility) } };
}

/** Anything but a short list of texts allows no caller. */
function optionalTexts(value: unknown): string[] {
  return Array.isArray(value) &&
    !isLargerThan(value, MAX_FIELD_CHARS) &&
    value.every((item) => typeof item === "string")
    ? value
    : [];
}

/** Returns an object as sent; `undefined` for another or a large value. */
export function optionalObject(value: unknown): JsonObject | undefined {
  return isPlainObject(value) && !isLargerThan(value, MAX_FIELD_CHARS) ? value : undefined;
}

function optionalObjects(value: unknown): JsonObject[] | undefined {
  return Array.isArray(value) && !isLargerThan(value, MAX_FIELD_CHARS)
    ? value.filter(isPlainObject)
    : undefined;
}
