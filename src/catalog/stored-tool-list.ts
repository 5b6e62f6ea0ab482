import { crc32 } from "node:zlib";
import { deepFreeze, isPlainObject, type JsonObject } from "../json/json.js";
import { type McpToolInfo, parseToolInfo } from "../config/tool-info.js";
import { findUnsafeJson, toStorableJson } from "../stores/storable-json.js";

/** The result of one `tools/list`. Deeply frozen, because it is shared between callers. */
export interface CachedToolList {
  readonly tools: readonly McpToolInfo[];
  /** Unix time in milliseconds. */
  readonly listedAt: number;
  readonly metadata: ListMetadata;
}

export interface ListMetadata {
  /** How long the list is valid according to the server. */
  readonly ttlMs?: number | undefined;
  /** The negotiated MCP version. */
  readonly protocolVersion?: string | undefined;
}

export function toCachedToolList(
  tools: readonly McpToolInfo[],
  listedAt: number,
  metadata: ListMetadata = {},
): CachedToolList {
  return { tools: deepFreeze([...tools]), listedAt, metadata };
}

/** How long the list counts as fresh: `maxMs`, or the server's TTL if that is shorter. */
export function getFreshnessMs({ metadata }: CachedToolList, maxMs: number): number {
  return Math.min(maxMs, metadata.ttlMs ?? maxMs);
}

/** Tolerated clock difference between machines; a list dated further in the future is rejected. */
const MAX_CLOCK_SKEW_MS = 60_000;

/** Serializes a list as two lines of JSON: a header with a checksum, and the tools. */
export function toStoredList({ tools, listedAt, metadata }: CachedToolList): string {
  const body = `[${tools.map(({ meta, ...tool }) => toStorableJson({ ...tool, _meta: meta }).text).join(",")}]`;
  return `${JSON.stringify({ listedAt, ...metadata, checksum: crc32(body) })}\n${body}`;
}

/**
 * Parses a stored list, which is untrusted input. Returns `undefined` if anything about it is invalid; the
 * checksum detects corruption.
 */
export function parseStoredList(value: unknown, now: number): CachedToolList | undefined {
  if (typeof value !== "string") return undefined;
  const headerEnd = value.indexOf("\n");
  const header = parseHeader(value.slice(0, headerEnd), now);
  const body = value.slice(headerEnd + 1);
  if (header === undefined || crc32(body) !== header.checksum) return undefined;
  const tools = parseTools(body);
  if (tools === undefined) return undefined;
  return { tools: deepFreeze(tools), listedAt: header.listedAt, metadata: header.metadata };
}

/** Returns `undefined` for an empty list, an invalid tool or two tools with the same name. */
function parseTools(body: string): McpToolInfo[] | undefined {
  const values = parseJson(body);
  if (!Array.isArray(values)) return undefined;
  const tools = values.flatMap((value) => {
    const parsed = parseToolInfo(findUnsafeJson(value) === undefined ? value : undefined);
    return "tool" in parsed ? [parsed.tool] : [];
  });
  const names = new Set(tools.map(({ name }) => name));
  return names.size > 0 && names.size === values.length ? tools : undefined;
}

interface ListHeader extends Pick<CachedToolList, "listedAt" | "metadata"> {
  readonly checksum: unknown;
}

function parseHeader(line: string, now: number): ListHeader | undefined {
  const header = parseJson(line);
  if (!isPlainObject(header)) return undefined;
  const { listedAt, checksum } = header;
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt) || listedAt > now + MAX_CLOCK_SKEW_MS)
    return undefined;
  return { listedAt: Math.min(listedAt, now), metadata: parseMetadata(header), checksum };
}

function parseMetadata({ ttlMs, protocolVersion }: JsonObject): ListMetadata {
  return {
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined,
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : undefined,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
