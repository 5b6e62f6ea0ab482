import type { McpToolInfo } from "../config/tool-info.js";

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

/** With everything in it, and without recursion: a server's schema may be nested deeper than the stack. */
export function freeze<T>(root: T): T {
  const left: unknown[] = [root];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    // One by one: a list of a hundred thousand values is more than a call takes.
    for (const value of Object.values(next)) if (typeof value === "object") left.push(value);
  }
  return root;
}
