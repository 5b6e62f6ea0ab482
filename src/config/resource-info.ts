import { sanitizeDescription, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";

/** Common fields of resources, templates and prompts. Hidden characters are removed from texts. */
interface BaseInfo {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly JsonObject[] | undefined;
  readonly meta?: JsonObject | undefined;
}

/** A resource as listed by its server. */
export interface McpResourceInfo extends BaseInfo {
  readonly uri: string;
  /** The display name; the URI when the server provides none. */
  readonly name: string;
  readonly mimeType?: string | undefined;
  /** The size in bytes, before any encoding. */
  readonly size?: number | undefined;
  readonly annotations?: JsonObject | undefined;
}

/** A resource template as listed by its server: filling in the variables results in the URI of a resource. */
export interface McpResourceTemplateInfo extends BaseInfo {
  /** A URI template (RFC 6570): `file:///{path}`. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly mimeType?: string | undefined;
  readonly annotations?: JsonObject | undefined;
}

/** An argument of a prompt. */
export interface McpPromptArgument {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly required: boolean;
}

/** A prompt as listed by its server. */
export interface McpPromptInfo extends BaseInfo {
  /** The name on the server, unchanged. */
  readonly name: string;
  readonly arguments: readonly McpPromptArgument[];
}

/** A parsed list item, or why it is invalid. */
export type ParsedInfo<Item> = { readonly item: Item } | { readonly problem: string };

/** Lenient: invalid optional fields are dropped; only a resource without a usable URI is a problem. */
export function parseResourceInfo(value: unknown): ParsedInfo<McpResourceInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { uri, size } = value;
  if (!isCleanUri(uri)) return { problem: describeUriProblem(uri, "uri") };
  const bytes = typeof size === "number" && size >= 0 ? { size } : {};
  return { item: { uri, ...parseContentFields(value, uri), ...bytes } };
}

export function parseResourceTemplateInfo(value: unknown): ParsedInfo<McpResourceTemplateInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { uriTemplate } = value;
  if (!isCleanUri(uriTemplate)) return { problem: describeUriProblem(uriTemplate, "uriTemplate") };
  return { item: { uriTemplate, ...parseContentFields(value, uriTemplate) } };
}

export function parsePromptInfo(value: unknown): ParsedInfo<McpPromptInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { name, arguments: promptArguments } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (promptArguments !== undefined && promptArguments !== null && !Array.isArray(promptArguments))
    return { problem: "has arguments that are not an array" };
  return {
    item: { name, arguments: (promptArguments ?? []).flatMap(parsePromptArgument), ...parseBaseInfo(value) },
  };
}

function parsePromptArgument(value: unknown): McpPromptArgument[] {
  if (!isPlainObject(value) || typeof value["name"] !== "string") return [];
  const { title, description } = parseBaseInfo(value);
  const texts = omitUndefined({ title, description });
  return [{ name: value["name"], required: value["required"] === true, ...texts }];
}

/** URIs are ASCII and shown to models: hidden characters would be an attempt to deceive. */
function isCleanUri(value: unknown): value is string {
  return typeof value === "string" && value !== "" && stripHiddenCharacters(value) === value;
}

function describeUriProblem(value: unknown, key: string): string {
  return typeof value === "string" && value !== "" ? `has hidden characters in its ${key}` : `has no ${key}`;
}

function parseContentFields(value: JsonObject, address: string) {
  const { name, mimeType, annotations } = value;
  const optional = {
    mimeType: optionalString(mimeType),
    annotations: isPlainObject(annotations) ? annotations : undefined,
  };
  return { name: optionalString(name) ?? address, ...parseBaseInfo(value), ...omitUndefined(optional) };
}

function parseBaseInfo({ title, description, icons, _meta }: JsonObject): BaseInfo {
  return omitUndefined({
    title: optionalString(title),
    description: typeof description === "string" ? sanitizeDescription(description) : undefined,
    icons: Array.isArray(icons) ? icons.filter(isPlainObject) : undefined,
    meta: isPlainObject(_meta) ? _meta : undefined,
  });
}

function optionalString(value: unknown): string | undefined {
  const text = typeof value === "string" ? stripHiddenCharacters(value).trim() : "";
  return text === "" ? undefined : text;
}
