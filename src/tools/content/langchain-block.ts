import type { ContentBlock } from "../../client/tool-result.js";
import { isPlainObject, type JsonObject, cloneJson } from "../../json/json.js";
import { stripHiddenCharacters, truncate } from "../../errors/sanitize-text.js";
import { isDeepStrictEqual } from "node:util";

/**
 * A standard content block of LangChain v1 (`ContentBlock` of `@langchain/core/messages`) that every provider's
 * converter accepts. A text block has only these two fields: ChatOpenAI sends it unchanged, and OpenAI rejects
 * unknown fields.
 */
export type LangChainBlock = TextBlock | DataBlock;

type TextBlock = { type: "text"; text: string };

type DataBlock = {
  type: "image" | "audio" | "file";
  mimeType: string;
  /** Validated base64. */
  data: string;
  metadata?: { uri: string; filename: string };
};

export function isTextBlock(block: LangChainBlock): block is TextBlock {
  return block.type === "text";
}

export function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

/** Returns blocks as the content of a message: a single text block becomes a string. */
export function toContent(blocks: LangChainBlock[]): string | LangChainBlock[] {
  const [first, second] = blocks;
  if (first === undefined) return "";
  return second === undefined && isTextBlock(first) ? first.text : blocks;
}

/** Converts an MCP block. Returns `undefined` for an unknown type or invalid data. */
export function toLangChainBlock(block: ContentBlock): LangChainBlock | undefined {
  switch (block.type) {
    case "text":
      return typeof block["text"] === "string" ? textBlock(block["text"]) : undefined;
    case "image":
    case "audio": {
      // SVG is text, and providers reject it as an image.
      const isSvg = toMimeType(block["mimeType"]) === "image/svg+xml";
      const text = isSvg ? decodeText(block["data"], block["mimeType"]) : undefined;
      return text === undefined ? toMediaBlock(block.type, block) : textBlock(text);
    }
    case "resource":
      return isPlainObject(block["resource"]) ? fromResource(block["resource"]) : undefined;
    case "resource_link":
      return describeResource(block);
    default:
      return undefined;
  }
}

/** Converts a standard block of LangChain to an MCP block; `undefined` where there is none of the same meaning. */
export function fromLangChainBlock(block: unknown): ContentBlock | undefined {
  if (!isPlainObject(block)) return undefined;
  const { type, text, data, mimeType, mime_type: oldMimeType, resource } = block;
  if (type === "text") return typeof text === "string" ? textBlock(text) : undefined;
  if (type === "resource") return isPlainObject(resource) ? { type, resource } : undefined;
  if (type !== "image" && type !== "audio") return undefined;
  return toMediaBlock(type, { data, mimeType: mimeType ?? oldMimeType });
}

/**
 * The blob of a resource becomes text, an image, audio or a PDF. Providers reject other files, and with them the
 * conversation, so one line describes them. Returns `undefined` if the blob is not base64.
 */
function fromResource(resource: JsonObject): LangChainBlock | undefined {
  const { text, blob, uri } = resource;
  // A page of MCP Apps is for people.
  if (typeof uri === "string" && uri.startsWith("ui://")) return describeResource(resource);
  if (typeof text === "string") return textBlock(text);
  // Some servers embed a resource with nothing but its URI.
  if (blob === undefined || blob === null) return describeResource(resource);
  const decoded = decodeText(blob, resource["mimeType"]);
  if (decoded !== undefined) return textBlock(decoded);
  const data = toBase64(blob);
  if (data === undefined) return undefined;
  const mimeType = toMimeType(resource["mimeType"]) ?? OCTET_STREAM;
  const type = toBlockType(mimeType);
  if (type === undefined) return describeBinary(mimeType, data, toSingleLine(uri));
  const block: DataBlock = { type, mimeType, data };
  if (typeof uri !== "string") return block;
  const shownUri = truncate(uri, MAX_LINE_LENGTH);
  return { ...block, metadata: { uri: shownUri, filename: toFileName(shownUri) } };
}

/**
 * Describes a resource that is not embedded. Not a file block with a URL: providers would try to fetch it and
 * reject the conversation for `file:` and every scheme that only the server knows.
 */
function describeResource({
  uri,
  name,
  title,
  mimeType,
  description,
}: JsonObject): LangChainBlock | undefined {
  const address = toSingleLine(uri);
  if (address === undefined) return undefined;
  const label = toSingleLine(title) ?? toSingleLine(name);
  const type = toSingleLine(mimeType);
  const details = toSingleLine(description);
  const labelText = label === undefined ? "Resource" : `Resource "${label}"`;
  const typeText = type === undefined ? "" : ` (${type})`;
  return textBlock(`${labelText}${typeText}: ${address}${details === undefined ? "" : `\n${details}`}`);
}

/** More than any URI or description needs. Models see it in addition to the limited text of a result. */
const MAX_LINE_LENGTH = 8_192;

function toSingleLine(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const line = stripHiddenCharacters(truncate(value, MAX_LINE_LENGTH)).replace(/\s+/g, " ").trim();
  return line === "" ? undefined : line;
}

const OCTET_STREAM = "application/octet-stream";
/** A type and a subtype according to RFC 6838, without parameters. */
const MIME_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** Common but unregistered types that providers reject. */
const MIME_ALIASES: ReadonlyMap<string, string> = new Map([["image/jpg", "image/jpeg"]]);

/**
 * Returns `undefined` unless the data is base64 of the given media type: a provider rejects a mislabeled block, and
 * with it every later request of the conversation.
 */
function toMediaBlock(type: "image" | "audio", { data, mimeType }: JsonObject): DataBlock | undefined {
  const base64 = toBase64(data);
  const mediaType = toMimeType(mimeType);
  if (base64 === undefined || mediaType === undefined || !mediaType.startsWith(`${type}/`)) return undefined;
  return { type, mimeType: mediaType, data: base64 };
}

/** Returns the block that providers accept for a MIME type. */
function toBlockType(mimeType: string): DataBlock["type"] | undefined {
  if (mimeType.startsWith("image/")) return "image";
  if (mimeType.startsWith("audio/")) return "audio";
  return mimeType === "application/pdf" ? "file" : undefined;
}

function describeBinary(mimeType: string, base64: string, uri: string | undefined): LangChainBlock {
  const bytes = Buffer.byteLength(base64, "base64").toLocaleString("en-US");
  return textBlock(`Binary resource (${mimeType}, ${bytes} bytes)${uri === undefined ? "" : `: ${uri}`}`);
}

const TEXTUAL_TYPE =
  /^text\/|^application\/(?:json|xml|yaml|toml|javascript|x-yaml|x-ndjson|sql)$|\+(?:json|xml|yaml)$/;
const MAX_DECODED_BASE64_LENGTH = 16_000_000;

/** Decodes base64 of a textual type; `undefined` if it is another type, too large, or not UTF-8. */
export function decodeText(data: unknown, mimeType: unknown): string | undefined {
  if (typeof data !== "string" || data.length > MAX_DECODED_BASE64_LENGTH) return undefined;
  const base64 = TEXTUAL_TYPE.test(toMimeType(mimeType) ?? "") ? toBase64(data) : undefined;
  if (base64 === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    // Not UTF-8, despite its MIME type.
    return undefined;
  }
}

/** Removes parameters and replaces aliases; `undefined` if it is not a MIME type. */
function toMimeType(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const essence = value.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return MIME_TYPE.test(essence) ? (MIME_ALIASES.get(essence) ?? essence) : undefined;
}

/** Normalizes base64 of at least one byte: servers also send line breaks and the URL-safe alphabet. */
function toBase64(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const standard = /[\s_-]/.test(value) ? toStandardBase64(value) : value;
  const digits = standard.replace(/={1,2}$/, "");
  // Searches for an invalid character: a pattern for the whole string would overflow the stack on megabytes.
  if (digits === "" || digits.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(digits)) return undefined;
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}

const SPACE = 32;
const PLUS = 43;
const DASH = 45;
const SLASH = 47;
const UNDERSCORE = 95;

/** Works on bytes: replacing in a string takes seconds if every other character of some megabytes is a space. */
function toStandardBase64(text: string): string {
  const bytes = Buffer.from(text);
  let length = 0;
  for (const byte of bytes) {
    if (byte <= SPACE) continue;
    bytes[length] = byte === DASH ? PLUS : byte === UNDERSCORE ? SLASH : byte;
    length += 1;
  }
  return bytes.toString("latin1", 0, length);
}

/** OpenAI requires a file name: the end of the last segment of the URI. */
function toFileName(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0] ?? "";
  const name = path.split("/").findLast((segment) => segment !== "") ?? "resource";
  return name.slice(-MAX_FILE_NAME_LENGTH);
}

const MAX_FILE_NAME_LENGTH = 255;

const MAX_BINARY_LENGTH = 1_000;
/** The keys of base64 data in MCP, which may be megabytes and is useless to a model as text. */
const BINARY_KEYS: ReadonlySet<string> = new Set(["data", "blob"]);

/** Serializes any value; never throws. */
export function stringifyJson(value: unknown): string {
  return stringify(value, (_, field) => (typeof field === "bigint" ? String(field) : field));
}

/** Like `stringifyJson`, with long binary data replaced by its length. */
export function stringifyWithoutBinary(value: unknown): string {
  return stringify(value, (key, field) => {
    if (typeof field === "bigint") return String(field);
    if (typeof field !== "string" || field.length <= MAX_BINARY_LENGTH || !BINARY_KEYS.has(key)) return field;
    return `[${field.length.toLocaleString("en-US")} characters omitted]`;
  });
}

/** Whether a text is the same JSON, regardless of whitespace and the order of keys. */
export function isSameJson(text: string, json: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), JSON.parse(json));
  } catch {
    // Not JSON, or nested too deeply to be compared.
    return false;
  }
}

function stringify(value: unknown, replacer: (key: string, field: unknown) => unknown): string {
  try {
    return JSON.stringify(cloneJson(value), replacer) ?? "null";
  } catch {
    return "[a value that cannot be serialized as JSON]";
  }
}
