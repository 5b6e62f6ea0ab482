import { toDescription, toReadable } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";

/** What servers say about resources, templates and prompts alike. Texts are without hidden characters. */
interface Described {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly JsonObject[] | undefined;
  readonly meta?: JsonObject | undefined;
}

/** Something that can be read, as its server lists it. */
export interface McpResourceInfo extends Described {
  readonly uri: string;
  /** For people; the URI where the server gives none. */
  readonly name: string;
  readonly mimeType?: string | undefined;
  /** In bytes, before any encoding. */
  readonly size?: number | undefined;
  readonly annotations?: JsonObject | undefined;
}

/** Resources that are not listed one by one: who fills in the variables of the URI can read them. */
export interface McpResourceTemplateInfo extends Described {
  /** RFC 6570: `file:///{path}`. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly mimeType?: string | undefined;
  readonly annotations?: JsonObject | undefined;
}

export interface McpPromptArgument {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly required: boolean;
}

/** A prompt as its server lists it. */
export interface McpPromptInfo extends Described {
  /** The server's own name for it, whatever it looks like. */
  readonly name: string;
  readonly arguments: readonly McpPromptArgument[];
}

/** An item of a list, or why it cannot be taken. */
export type ParsedItem<Item> = { readonly item: Item } | { readonly problem: string };

/** Lenient: what is of no use is left out, and only a resource that cannot be read is a problem. */
export function parseResourceInfo(value: unknown): ParsedItem<McpResourceInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { uri, size } = value;
  if (!isAddress(uri)) return { problem: problemOf(uri, "uri") };
  const bytes = typeof size === "number" && size >= 0 ? { size } : {};
  return { item: { uri, ...aboutContent(value, uri), ...bytes } };
}

export function parseResourceTemplateInfo(value: unknown): ParsedItem<McpResourceTemplateInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { uriTemplate } = value;
  if (!isAddress(uriTemplate)) return { problem: problemOf(uriTemplate, "uriTemplate") };
  return { item: { uriTemplate, ...aboutContent(value, uriTemplate) } };
}

export function parsePromptInfo(value: unknown): ParsedItem<McpPromptInfo> {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { name, arguments: given } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (given !== undefined && given !== null && !Array.isArray(given))
    return { problem: "has arguments that are no list" };
  return { item: { name, arguments: (given ?? []).flatMap(toArgument), ...describe(value) } };
}

function toArgument(value: unknown): McpPromptArgument[] {
  if (!isPlainObject(value) || typeof value["name"] !== "string") return [];
  const { title, description } = describe(value);
  const texts = present({ title, description });
  return [{ name: value["name"], required: value["required"] === true, ...texts }];
}

/** A URI is ASCII and shown to models: one with hidden characters in it wants to deceive. */
function isAddress(value: unknown): value is string {
  return typeof value === "string" && value !== "" && toReadable(value) === value;
}

function problemOf(value: unknown, key: string): string {
  return typeof value === "string" && value !== "" ? `has hidden characters in its ${key}` : `has no ${key}`;
}

function aboutContent(value: JsonObject, address: string) {
  const { name, mimeType, annotations } = value;
  const optional = {
    mimeType: ifText(mimeType),
    annotations: isPlainObject(annotations) ? annotations : undefined,
  };
  return { name: ifText(name) ?? address, ...describe(value), ...present(optional) };
}

function describe({ title, description, icons, _meta }: JsonObject): Described {
  return present({
    title: ifText(title),
    description: typeof description === "string" ? toDescription(description) : undefined,
    icons: Array.isArray(icons) ? icons.filter(isPlainObject) : undefined,
    meta: isPlainObject(_meta) ? _meta : undefined,
  });
}

function ifText(value: unknown): string | undefined {
  const text = typeof value === "string" ? toReadable(value).trim() : "";
  return text === "" ? undefined : text;
}

function present<Fields extends object>(fields: Fields): Partial<Fields> {
  const entries = Object.entries(fields).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries) as Partial<Fields>;
}
