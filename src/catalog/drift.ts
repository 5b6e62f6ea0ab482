import type { McpToolInfo } from "../config/tool-info.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toReadable } from "../errors/sanitize-text.js";
import { compareSchemas, type ParameterChange } from "../json-schema/diff.js";
import { schemaHash } from "../json-schema/schema-hash.js";

export interface ToolChange {
  /** The server's own name of it. */
  readonly tool: string;
  /** `additive`: calls as they were made before still work. */
  readonly change: "additive" | "breaking";
  readonly parameters: readonly ParameterChange[];
  /** It says something else about itself. */
  readonly isDescriptionChanged: boolean;
  /**
   * What else it says about itself and did not say before: `title`, `readOnlyHint` and their like. None
   * for a tool that was saved with an agent: that is saved without them.
   */
  readonly annotations: readonly string[];
}

/** What is known of a server. */
export interface KnownList {
  readonly tools: readonly McpToolInfo[];
  /** Without titles and annotations, as agents save them. */
  readonly isSaved: boolean;
}

/**
 * How a server differs from what is known of it.
 * - `same`: not at all
 * - `changed`: see what was added, removed and changed
 * - `unreachable`: nobody can tell; `error` says why. Nothing counts as removed
 */
export interface ServerDrift {
  readonly state: "same" | "changed" | "unreachable";
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly ToolChange[];
  readonly error?: McpRuntimeError | undefined;
}

/** What is known of a server against what it lists now. */
export function compareTools({ tools, isSaved }: KnownList, now: readonly McpToolInfo[]): ServerDrift {
  const before = new Map(tools.map((tool) => [tool.name, tool]));
  const after = new Map(now.map((tool) => [tool.name, tool]));
  const added = [...after.keys()].filter((name) => !before.has(name)).toSorted();
  const removed = [...before.keys()].filter((name) => !after.has(name)).toSorted();
  const changed = [...before.values()].flatMap((tool) => {
    const fresh = after.get(tool.name);
    return fresh === undefined ? [] : changeOf(tool, fresh, isSaved ? [] : annotationsOf(tool, fresh));
  });
  const isSame = added.length + removed.length + changed.length === 0;
  return { state: isSame ? "same" : "changed", added, removed, changed };
}

export function unreachable(error: McpRuntimeError): ServerDrift {
  return { state: "unreachable", added: [], removed: [], changed: [], error };
}

function changeOf(before: McpToolInfo, now: McpToolInfo, annotations: readonly string[]): ToolChange[] {
  const { severity, parameters } = compareSchemas(before.inputSchema, now.inputSchema);
  const isDescriptionChanged = (before.description ?? "") !== (now.description ?? "");
  if (severity === "none" && !isDescriptionChanged && annotations.length === 0) return [];
  const change = severity === "breaking" ? "breaking" : "additive";
  return [{ tool: before.name, change, parameters, isDescriptionChanged, annotations }];
}

/** By name: where the server is trusted, a hint decides what is repeated and what asks nobody. */
function annotationsOf(before: McpToolInfo, now: McpToolInfo): string[] {
  const [was, is] = [before, now].map(({ title, annotations }) => ({ title, ...annotations }));
  const names = Object.keys({ ...was, ...is }) as (keyof typeof was)[];
  const changed = names.filter((name) => schemaHash(was?.[name]) !== schemaHash(is?.[name]));
  return changed.map((name) => toReadable(name)).toSorted();
}
