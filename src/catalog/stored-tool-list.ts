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

interface ParseOptions {
  readonly now: number;
  /** Creates the error for a tool that cannot be parsed although the checksum of the list matches. */
  readonly createError: (tool: string) => Error;
}

/**
 * Serializes a list as lines of JSON: a header, the tool names, then one tool per line. Each tool can be
 * parsed separately: parsing all of a thousand tools dominates startup, and few of them are used.
 */
export function toStoredList({ tools, listedAt, metadata }: CachedToolList): string {
  const names = JSON.stringify(tools.map(({ name }) => name));
  const body = [names, ...tools.map(serializeTool)].join("\n");
  return `${JSON.stringify({ listedAt, ...metadata, checksum: crc32(body) })}\n${body}`;
}

/**
 * Parses a stored list, which is untrusted input; returns `undefined` if anything about it is invalid. The
 * checksum detects corruption. Tools are parsed and validated lazily, on first access.
 */
export function parseStoredList(
  value: unknown,
  { now, createError }: ParseOptions,
): CachedToolList | undefined {
  if (typeof value !== "string") return undefined;
  const headerEnd = value.indexOf("\n");
  const header = parseHeader(value.slice(0, headerEnd), now);
  const body = value.slice(headerEnd + 1);
  if (header === undefined || crc32(body) !== header.checksum) return undefined;
  const [nameLine = "", ...toolLines] = body.split("\n");
  const names = parseNames(nameLine);
  if (names.size === 0 || names.size !== toolLines.length) return undefined;
  const tools = [...names].map((name, index) =>
    createLazyTool(name, () => {
      const tool = parseTool(toolLines[index] ?? "");
      if (tool?.name !== name) throw createError(name);
      return deepFreeze(tool);
    }),
  );
  return { tools: Object.freeze(tools), listedAt: header.listedAt, metadata: header.metadata };
}

function serializeTool({ meta, ...tool }: McpToolInfo): string {
  return toStorableJson({ ...tool, _meta: meta }).text;
}

function parseTool(line: string): McpToolInfo | undefined {
  const value = parseJson(line);
  const parsed = parseToolInfo(findUnsafeJson(value) === undefined ? value : undefined);
  return "tool" in parsed ? parsed.tool : undefined;
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

/** Names without escapes, which is nearly all, are split by hand: `JSON.parse` takes as long as all the rest. */
function parseNames(line: string): Set<string> {
  const names = line.includes("\\") ? parseJson(line) : line.slice(2, -2).split('","');
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === "string") : []);
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

/**
 * A tool of which only the name is loaded; access to any other property calls `read` first. It behaves
 * like the object that `read` returns, and throws what `read` throws, on every access.
 */
function createLazyTool(name: string, read: () => McpToolInfo): McpToolInfo {
  return new Proxy({ name } as McpToolInfo, new LazyToolHandler(read));
}

/** Proxy invariants are checked against the target, so the loaded properties are copied to it and frozen there. */
class LazyToolHandler implements ProxyHandler<McpToolInfo> {
  readonly #read: () => McpToolInfo;
  #isLoaded = false;

  constructor(read: () => McpToolInfo) {
    this.#read = read;
  }

  get(tool: McpToolInfo, key: PropertyKey): unknown {
    return Reflect.get(key === "name" ? tool : this.#load(tool), key);
  }

  has(tool: McpToolInfo, key: PropertyKey): boolean {
    return Reflect.has(this.#load(tool), key);
  }

  ownKeys(tool: McpToolInfo): (string | symbol)[] {
    return Reflect.ownKeys(this.#load(tool));
  }

  getOwnPropertyDescriptor(tool: McpToolInfo, key: PropertyKey): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.#load(tool), key);
  }

  isExtensible(tool: McpToolInfo): boolean {
    return Reflect.isExtensible(this.#load(tool));
  }

  preventExtensions(tool: McpToolInfo): boolean {
    return Reflect.preventExtensions(this.#load(tool));
  }

  /** A tool is read-only, loaded or not. */
  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }

  #load(tool: McpToolInfo): McpToolInfo {
    if (!this.#isLoaded) {
      Object.freeze(Object.assign(tool, this.#read()));
      this.#isLoaded = true;
    }
    return tool;
  }
}
