import { isJsonObject, type JsonObject } from "../definitions/json.js";
import { type McpToolInfo, parseToolInfo } from "../definitions/tool-info.js";

/** Clocks of two machines differ a little; a list from further ahead is no list. */
const MOST_SKEW_MS = 60_000;

/** The tools of a server as they were listed once. Frozen: whoever has it shares it. */
export interface CachedList {
  readonly tools: readonly McpToolInfo[];
  /** Milliseconds since 1970. */
  readonly listedAt: number;
  readonly notes: ListNotes;
}

/** What was learned beside the list. */
export interface ListNotes {
  /** How long the server says that the list stays as it is. */
  readonly ttlMs?: number | undefined;
  /** The revision of MCP that the server spoke. */
  readonly protocolVersion?: string | undefined;
}

export function toCachedList(
  tools: readonly McpToolInfo[],
  listedAt: number,
  notes: ListNotes = {},
): CachedList {
  return { tools: freeze([...tools]), listedAt, notes };
}

/** For how long it passes for the list of today: no longer than the server says. */
export function freshMsOf({ notes }: CachedList, mostMs: number): number {
  return Math.min(mostMs, notes.ttlMs ?? mostMs);
}

/** As it is kept in a store. */
export function toStoredList({ tools, listedAt, notes }: CachedList): JsonObject {
  const { ttlMs, protocolVersion } = notes;
  return {
    listedAt,
    tools: tools.map(({ meta, ...tool }) => ({ ...tool, _meta: meta })),
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(protocolVersion === undefined ? {} : { protocolVersion }),
  };
}

/** What a store gave, read as if it came from a server. Anything odd about it, and it is not there. */
export function parseStoredList(value: unknown, now: number): CachedList | undefined {
  if (!isJsonObject(value)) return undefined;
  const { listedAt, tools } = value;
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt) || listedAt > now + MOST_SKEW_MS)
    return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  const parsed = tools.map((tool) => parseToolInfo(tool));
  const infos = parsed.flatMap((result) => ("tool" in result ? [result.tool] : []));
  const names = new Set(infos.map(({ name }) => name));
  return names.size === tools.length
    ? toCachedList(infos, Math.min(listedAt, now), parseNotes(value))
    : undefined;
}

function parseNotes({ ttlMs, protocolVersion }: JsonObject): ListNotes {
  return {
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined,
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : undefined,
  };
}

/** With everything in it, and without recursion: a server's schema may be nested deeper than the stack. */
function freeze<T>(root: T): T {
  const left: unknown[] = [root];
  for (let next = left.pop(); left.length > 0 || next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    // One by one: a list of a hundred thousand values is more than a call takes.
    for (const value of Object.values(next)) left.push(value);
  }
  return root;
}
