import type { McpAgentResource, ToolSnapshot } from "../config/agent-definition.js";
import type { McpToolInfo } from "../config/server-features.js";
import type { JsonObject } from "../json/json.js";

/** A tool of an agent resource. */
export interface SelectedAgentTool {
  /** The tool as its snapshot or its server describes it. */
  readonly info: McpToolInfo;
  /** Settings for single arguments, from the snapshot; empty for a tool without one. */
  readonly argumentProperties: ToolSnapshot["argumentProperties"];
}

/**
 * The tools of an agent resource: its snapshots, or what the server lists (all of it, or only tools that
 * have a snapshot). Returns `undefined` if the server must be listed first.
 */
export function selectAgentTools(
  resource: McpAgentResource,
  listed: readonly McpToolInfo[] | undefined,
): SelectedAgentTool[] | undefined {
  const { discovery, availableTools } = resource;
  if (discovery.type === "cached") return availableTools.map(fromSnapshot);
  const snapshots = new Map(availableTools.map((snapshot) => [snapshot.name, snapshot]));
  return listed
    ?.filter(({ name }) => discovery.allowAll || snapshots.has(name))
    .map((info) => ({ info, argumentProperties: snapshots.get(info.name)?.argumentProperties ?? {} }));
}

/** The tool that a snapshot describes. */
export function fromSnapshot({ argumentProperties, ...info }: ToolSnapshot): SelectedAgentTool {
  return { info, argumentProperties };
}

/** Metadata that the tools of an agent resource carry. */
export function toResourceMetadata({ slug, folderPath }: McpAgentResource): JsonObject {
  return { slug, folder_path: folderPath };
}
