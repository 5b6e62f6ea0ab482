import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { deepFreeze } from "./deep-freeze.js";
import { parseStoredTool, toStoredTool } from "./stored-tool.js";

/** Clocks of two machines differ a little; a list from further ahead is no list. */
const MOST_SKEW_MS = 60_000;

/** The tools of a server as they were listed once. Frozen: whoever has it shares it. */
export interface CachedList {
  readonly tools: readonly McpToolInfo[];
  /** Milliseconds since 1970. */
  readonly listedAt: number;
}

export function toCachedList(tools: readonly McpToolInfo[], listedAt: number): CachedList {
  return { tools: deepFreeze([...tools]), listedAt };
}

/** As it is kept in a store. */
export function toStoredList({ tools, listedAt }: CachedList): JsonObject {
  return { listedAt, tools: tools.map(toStoredTool) };
}

/** What a store gave, read as if it came from a server. Anything odd about it, and it is not there. */
export function parseStoredList(value: unknown, now: number): CachedList | undefined {
  if (!isJsonObject(value)) return undefined;
  const { listedAt, tools } = value;
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt) || listedAt > now + MOST_SKEW_MS)
    return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  const infos: McpToolInfo[] = [];
  const names = new Set<string>();
  for (const tool of tools) {
    const info = parseStoredTool(tool);
    if (info === undefined || names.has(info.name)) return undefined;
    names.add(info.name);
    infos.push(info);
  }
  return { tools: Object.freeze(infos), listedAt: Math.min(listedAt, now) };
}
