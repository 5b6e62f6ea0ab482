import { toArray, toObject } from "../json/json.js";

/** The state key under which a graph keeps the names of the tools that the model has loaded. */
export const LOADED_TOOLS_KEY = "mcpLoadedTools";

export const SEARCH_TOOL = "search_tools";
export const LOAD_TOOL = "load_tools";

/** Appends the names that are new. Names keep their place, so that the prompt cache of a provider stays valid. */
export function mergeLoadedTools(
  current: readonly string[] = [],
  update: readonly string[] = [],
): readonly string[] {
  const known = new Set(current);
  const added = [...new Set(update)].filter((name) => !known.has(name));
  return added.length === 0 ? current : [...current, ...added];
}

/** A tool that a message has loaded or called. */
interface ToolUse {
  readonly name: string;
  /** Whether it was used after the last human message. */
  readonly isCurrent: boolean;
}

/** Returns all names that were loaded, in order: those in the state of the graph, then those in its messages. */
export function findLoadedTools(state: unknown): readonly string[] {
  return mergeLoadedTools(
    readSavedTools(state),
    findToolUses(state).map(({ name }) => name),
  );
}

/**
 * Returns the loaded tools that the model sees now, in the order in which they were loaded. With more than `maxLoaded`
 * at the last human message, the least recently used ones are left out; within a turn none is removed.
 */
export function selectLoadedTools(state: unknown, maxLoaded: number): readonly string[] {
  const uses = findToolUses(state);
  const loaded = findLoadedTools(state);
  const current = new Set(uses.filter(({ isCurrent }) => isCurrent).map(({ name }) => name));
  const lastUse = new Map(
    uses.filter(({ isCurrent }) => !isCurrent).map(({ name }, index) => [name, index] as const),
  );
  const older = loaded.filter((name) => lastUse.has(name) || !current.has(name));
  const removed = new Set(
    older.toSorted((left, right) => (lastUse.get(right) ?? -1) - (lastUse.get(left) ?? -1)).slice(maxLoaded),
  );
  const usedAgain = [...current].filter((name) => removed.has(name));
  return [...loaded.filter((name) => !removed.has(name)), ...usedAgain];
}

/** Whether a graph has a state channel for the loaded tools. */
export function hasLoadedToolsChannel(state: unknown): boolean {
  return Object.hasOwn(Object(state), LOADED_TOOLS_KEY);
}

function readSavedTools(state: unknown): readonly string[] {
  return toArray(Reflect.get(Object(state), LOADED_TOOLS_KEY)).filter((name) => typeof name === "string");
}

function findToolUses(state: unknown): ToolUse[] {
  const messages = toArray(Array.isArray(state) ? state : Reflect.get(Object(state), "messages"));
  const lastHuman = messages.findLastIndex((message) => Reflect.get(Object(message), "type") === "human");
  return messages.flatMap((message, index) =>
    toArray(Reflect.get(Object(message), "tool_calls"))
      .flatMap((call) => getUsedTools(toObject(call)))
      .map((name) => ({ name, isCurrent: index > lastHuman })),
  );
}

/** The tools that a call uses: `load_tools` those that it names, another call its own tool. */
function getUsedTools({ name, args }: Readonly<Record<string, unknown>>): string[] {
  if (typeof name !== "string" || name === SEARCH_TOOL) return [];
  if (name !== LOAD_TOOL) return [name];
  return toArray(toObject(args)["names"]).filter((loaded) => typeof loaded === "string");
}
