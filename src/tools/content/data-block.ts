import type { DataBlock } from "./langchain-block.js";

const BINARY = "application/octet-stream";
/** A type and a subtype as RFC 6838 allows them; parameters are cut off before. */
const MIME_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** Written by many, registered by nobody, and refused by providers. */
const MISSPELT: ReadonlyMap<string, string> = new Map([["image/jpg", "image/jpeg"]]);

/**
 * Data that an MCP block calls an image or a sound. Undefined when it is not what it is called: a
 * provider refuses such a block, and with it the whole conversation from then on.
 */
export function toMediaBlock(
  type: "image" | "audio",
  { data, mimeType }: { readonly data: unknown; readonly mimeType: unknown },
): DataBlock | undefined {
  const base64 = toBase64(data);
  const known = toMimeType(mimeType);
  if (base64 === undefined || known === undefined || !known.startsWith(`${type}/`)) return undefined;
  return { type, mimeType: known, data: base64 };
}

/** The bytes of an embedded resource: an image, a sound, or a file. Undefined when they cannot be read. */
export function toResourceBlock({
  blob,
  mimeType,
  uri,
}: {
  readonly blob: unknown;
  readonly mimeType: unknown;
  readonly uri: unknown;
}): DataBlock | undefined {
  const data = toBase64(blob);
  if (data === undefined) return undefined;
  const known = toMimeType(mimeType) ?? BINARY;
  const block: DataBlock = { type: blockTypeOf(known), mimeType: known, data };
  return typeof uri === "string" ? { ...block, metadata: { uri, filename: fileNameOf(uri) } } : block;
}

function blockTypeOf(mimeType: string): DataBlock["type"] {
  if (mimeType.startsWith("image/")) return "image";
  return mimeType.startsWith("audio/") ? "audio" : "file";
}

/** Without parameters, and as it is registered. */
export function toMimeType(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const essence = value.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return MIME_TYPE.test(essence) ? (MISSPELT.get(essence) ?? essence) : undefined;
}

/** Plain base64 of at least one byte; line breaks and the URL alphabet, which servers send too, are undone. */
export function toBase64(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const plain = value.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  const digits = plain.replace(/={1,2}$/, "");
  // Looks for the first wrong character: a pattern for the whole would overflow on megabytes.
  if (digits === "" || digits.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(digits)) return undefined;
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}

/** OpenAI wants a name for a file; the last part of the URI is the best there is. */
function fileNameOf(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0] ?? "";
  return path.split("/").findLast((part) => part !== "") ?? "resource";
}
