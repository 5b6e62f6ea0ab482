import type { McpAgentResource, ToolSnapshot } from "../config/agent-definition.js";
import type { McpToolInfo } from "../config/tool-info.js";

export interface AgentTool {
  readonly info: McpToolInfo;
  readonly argumentProperties: ToolSnapshot["argumentProperties"];
}

/**
 * The tools of an agent resource: the snapshots that were saved with the agent, for which nothing is
 * sent, or what the server lists, all of it or what the snapshots allow; `undefined` before it has.
 */
export function toolsOfResource(
  resource: McpAgentResource,
  listed: readonly McpToolInfo[] | undefined,
): AgentTool[] | undefined {
  const { discovery, availableTools } = resource;
  if (discovery.type === "cached") return availableTools.map(toAgentTool);
  const snapshots = new Map(availableTools.map((snapshot) => [snapshot.name, snapshot]));
  return listed
    ?.filter(({ name }) => discovery.allowAll || snapshots.has(name))
    .map((info) => ({ info, argumentProperties: snapshots.get(info.name)?.argumentProperties ?? {} }));
}

/** The snapshots as tools, where nothing may be sent. */
export function toAgentTool({ argumentProperties, ...info }: ToolSnapshot): AgentTool {
  return { info, argumentProperties };
}
