import type { McpAgentResource, ToolDiscovery } from "./agent-definition.js";
import { readToolSnapshots } from "./parse-tool-snapshot.js";
import {
  field,
  flag,
  isAbsent,
  isObject,
  jsonObject,
  nonEmptyText,
  oneOf,
  optionalText,
  type Written,
} from "./parse-cursor.js";

/** In code a definition may hold functions and addresses; they stay what they are. */
const SERVER = { foreign: "keep", maxDepth: 1_000 } as const;

/** One MCP resource of an agent. Problems go to the findings of `at`. */
export function readAgentResource(at: Written): McpAgentResource {
  const name = nonEmptyText(field(at, "name"));
  const slugAt = slugOf(at);
  const serverAt = field(at, "server");
  return {
    name,
    description: optionalText(field(at, "description")),
    slug: isAbsent(field(at, "slug")) ? name : nonEmptyText(slugAt),
    folderPath: optionalText(field(at, "folderPath")),
    isEnabled: flag(field(at, "isEnabled"), true),
    availableTools: readToolSnapshots(field(at, "availableTools"), name),
    discovery: readDiscovery(at),
    server: isAbsent(serverAt) ? undefined : jsonObject(serverAt, SERVER),
  };
}

/** What was written as the slug: the name, when nothing was. */
export function slugOf(at: Written): Written {
  const slugAt = field(at, "slug");
  return isAbsent(slugAt) ? field(at, "name") : slugAt;
}

const CACHED: ToolDiscovery = { type: "cached", refreshSchemaBeforeCall: true };

/** How it was said before there was a `toolsConfiguration`. */
const DYNAMIC_TOOLS: Readonly<Record<"none" | "schema" | "all", ToolDiscovery>> = {
  none: { type: "cached", refreshSchemaBeforeCall: false },
  schema: { type: "dynamic", allowAll: false },
  all: { type: "dynamic", allowAll: true },
};

function readDiscovery(at: Written): ToolDiscovery {
  const configurationAt = field(at, "toolsConfiguration");
  if (!isAbsent(configurationAt) && isObject(configurationAt)) {
    const modeAt = field(configurationAt, "discoveryMode");
    if (!isAbsent(modeAt)) return isObject(modeAt) ? readMode(modeAt) : CACHED;
  }
  const dynamicAt = field(at, "dynamicTools");
  if (isAbsent(dynamicAt)) return CACHED;
  const word = oneOf(dynamicAt, ["none", "schema", "all"]);
  return word === undefined ? CACHED : DYNAMIC_TOOLS[word];
}

function readMode(at: Written): ToolDiscovery {
  const type = oneOf(field(at, "type"), ["cached", "dynamic"]);
  if (type === "dynamic") return { type, allowAll: flag(field(at, "allowAll"), false) };
  return { type: "cached", refreshSchemaBeforeCall: flag(field(at, "refreshSchemaBeforeCall"), true) };
}
