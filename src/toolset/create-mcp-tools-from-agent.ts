import { toolsOfResource } from "../catalog/select-resource-tools.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { parseAgent } from "../config/parse-agent.js";
import { parseServers } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import type { AgentToolsOptions } from "./agent-tools-options.js";
import { resolveFactoryOptions } from "./toolset-options.js";
import { listedOffer, LiveTools, type OfferDetails } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { resourceMetadata } from "./resource-metadata.js";
import { serverOfResource } from "./resolve-resource-server.js";
import { START_KEYS, startToolset } from "./start-toolset.js";

/**
 * Tools of an agent definition, given as an object or as JSON text. With tool snapshots nothing is
 * sent before the first call.
 */
export async function createMcpToolsFromAgent(
  agent: unknown,
  options: AgentToolsOptions = {},
): Promise<McpToolset> {
  const {
    create,
    manager: settings,
    resourceTools,
  } = resolveFactoryOptions(options, "none", [...START_KEYS, "servers", "allowInlineServers"]);
  checkInline(options.allowInlineServers);
  const { resources, warnings } = parseAgent(agent);
  for (const warning of warnings) create.warn(warning);
  if (typeof options.servers === "object") parseServers(options.servers);
  const enabled = new Map(resources.filter(({ isEnabled }) => isEnabled).map((one) => [one.name, one]));
  const isSaved = (name: string) => enabled.get(name)?.discovery.type === "cached";
  const manager = new McpServerManager(serversOf(resources, options), {
    ...settings,
    listTools: (name) => !isSaved(name),
  });
  const live = new LiveTools({
    fleet: manager.fleet,
    create,
    offer: (name, listed) => offerOfResource(enabled.get(name), name, listed),
    resourceTools,
  });
  const snapshots = new Map(
    [...enabled.values()].filter(({ name }) => isSaved(name)).map((one) => [one.name, one.availableTools]),
  );
  // What was saved with the agent is what somebody approved.
  const approve = async () => {
    for (const [name, tools] of snapshots) await manager.fleet.get(name).member.pins?.approveSaved(tools);
  };
  return startToolset({ manager, tools: live, options, saved: snapshots, prepare: approve });
}

/** The servers of all enabled resources; those whose tools are saved are connected on first use. */
function serversOf(
  resources: readonly McpAgentResource[],
  options: AgentToolsOptions,
): Record<string, ServerDefinition> {
  const enabled = resources.filter(({ isEnabled }) => isEnabled);
  const found = enabled.map((resource) => ({ resource, server: serverOfResource(resource, options) }));
  const issues = [
    ...found.flatMap(({ server }) => ("issue" in server ? [server.issue] : [])),
    ...namesTwice(enabled.map(({ name }) => name)),
  ];
  if (issues.length > 0) throw configError("The agent definition", issues);
  return Object.fromEntries(
    found.flatMap(({ resource, server }) => {
      if ("issue" in server) return [];
      const isSaved = resource.discovery.type === "cached";
      return [[resource.name, isSaved ? { ...server.definition, lazy: true } : server.definition]];
    }),
  );
}

/** A server that was added later has no resource: all that it lists is taken. */
function offerOfResource(
  resource: McpAgentResource | undefined,
  name: string,
  listed: readonly McpToolInfo[] | undefined,
): OfferDetails | undefined {
  if (resource === undefined) return listedOffer(name, listed);
  const tools = toolsOfResource(resource, listed);
  const { discovery } = resource;
  const refreshesSchema = discovery.type === "cached" && discovery.refreshSchemaBeforeCall;
  return tools && { tools, metadata: resourceMetadata(resource), refreshesSchema };
}

/** Clients are known by the names of their resources. */
function namesTwice(names: readonly string[]): ConfigIssue[] {
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...twice].map((name) => ({
    path: "resources",
    message: `two enabled resources are named ${JSON.stringify(name)}`,
  }));
}

function checkInline(allowed: unknown): void {
  if (allowed === undefined || typeof allowed === "boolean" || allowed === "remote") return;
  const message = `expected "remote", true or false, found ${describeValue(allowed)}`;
  throw configError("The set of options", [{ path: "allowInlineServers", message }]);
}
