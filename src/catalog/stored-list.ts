import { crc32 } from "node:zlib";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { type McpToolInfo, parseToolInfo } from "../config/tool-info.js";
import { findHostile, toSoundJson } from "../stores/storable-json.js";
import { type CachedList, freeze, type ListNotes } from "./cached-tool-list.js";
import { lateTool } from "./lazy-tool.js";

/** Clocks of two machines differ a little; a list from further ahead is no list. */
const MOST_SKEW_MS = 60_000;

interface ParseOptions {
  readonly now: number;
  /** What is thrown to whoever looks at a tool that cannot be read, though its list is as it was written. */
  readonly unreadable: (tool: string) => Error;
}

/**
 * A list as it is kept in a store: lines of JSON, of which the first says what is in the others, the
 * second has the names, and every other one a tool. A tool can then be read without the rest: to read
 * all of a thousand takes longer than anything else that is done with them, and few are looked at.
 */
export function toStoredList({ tools, listedAt, notes }: CachedList): string {
  const names = JSON.stringify(tools.map(({ name }) => name));
  const lines = [names, ...tools.map(toLine)].join("\n");
  return `${JSON.stringify({ listedAt, ...notes, checksum: crc32(lines) })}\n${lines}`;
}

/**
 * What a store gave, read as one reads what a stranger has sent. Anything odd about it, and it is not
 * there. The checksum tells of damage; what somebody has planted is found when it is looked at.
 */
export function parseStoredList(value: unknown, { now, unreadable }: ParseOptions): CachedList | undefined {
  if (typeof value !== "string") return undefined;
  const end = value.indexOf("\n");
  const head = parseHead(value.slice(0, end), now);
  const lines = value.slice(end + 1);
  if (head === undefined || crc32(lines) !== head.checksum) return undefined;
  const [first = "", ...texts] = lines.split("\n");
  const names = parseNames(first);
  if (names.size === 0 || names.size !== texts.length) return undefined;
  const tools = [...names].map((name, index) =>
    lateTool(name, () => {
      const tool = parseLine(texts[index] ?? "");
      if (tool?.name !== name) throw unreadable(name);
      return freeze(tool);
    }),
  );
  return { tools: Object.freeze(tools), listedAt: head.listedAt, notes: head.notes };
}

function toLine({ meta, ...tool }: McpToolInfo): string {
  return toSoundJson({ ...tool, _meta: meta }).text;
}

function parseLine(line: string): McpToolInfo | undefined {
  const value = parseJson(line);
  const parsed = parseToolInfo(findHostile(value) === undefined ? value : undefined);
  return "tool" in parsed ? parsed.tool : undefined;
}

interface Head extends Pick<CachedList, "listedAt" | "notes"> {
  readonly checksum: unknown;
}

function parseHead(line: string, now: number): Head | undefined {
  const head = parseJson(line);
  if (!isPlainObject(head)) return undefined;
  const { listedAt, checksum } = head;
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt) || listedAt > now + MOST_SKEW_MS)
    return undefined;
  return { listedAt: Math.min(listedAt, now), notes: parseNotes(head), checksum };
}

/** Names with nothing escaped, as nearly all are, need no parser: it takes as long over them as all the rest. */
function parseNames(line: string): Set<string> {
  const names = line.includes("\\") ? parseJson(line) : line.slice(2, -2).split('","');
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === "string") : []);
}

function parseNotes({ ttlMs, protocolVersion }: JsonObject): ListNotes {
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
