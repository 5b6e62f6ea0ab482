import { selectResourceTools, toResourceMetadata } from "../catalog/select-resource-tools.js";
import type { AgentDefinition, McpAgentResource } from "../config/agent/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { parseAgent } from "../config/agent/parse-agent.js";
import { parseServerConfigs, withServerSettings } from "../config/parse-server.js";
import type { ServerConfig } from "../config/server-config.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import { type AgentToolsOptions, resolveFactoryOptions } from "./toolset-options.js";
import { toListedTools, ToolList, type ServerToolsInput } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { resolveResourceServer } from "./resolve-resource-server.js";
import { START_OPTION_KEYS, startToolset } from "./toolset.js";

/**
 * Creates LangChain tools from an agent definition. Servers whose tools are snapshots in the definition are
 * connected on the first call.
 *
 * @param agent the definition as an object or a JSON string
 * @throws McpRuntimeError kind `invalid-config` if the definition or an option is invalid, or a resource has no
 * server; otherwise why a server could not be connected
 * @example
 * ```ts
 * const agent = await readFile("agent.json", "utf8");
 * await using toolset = await createMcpToolsFromAgent(agent, {
 *   servers: { weather: { url: "https://weather.example.com/mcp" } },
 * });
 * ```
 */
export async function createMcpToolsFromAgent(
  agent: AgentDefinition | string,
  options: AgentToolsOptions = {},
): Promise<McpToolset> {
  const {
    create,
    manager: settings,
    resourceTools,
  } = resolveFactoryOptions(options, "none", [...START_OPTION_KEYS, "servers", "allowInlineServers"]);
  assertInlineOption(options.allowInlineServers);
  const { resources, warnings } = parseAgent(agent);
  for (const warning of warnings) create.warn(warning);
  const enabled = new Map(
    resources.filter(({ isEnabled }) => isEnabled).map((resource) => [resource.name, resource]),
  );
  const usesSnapshots = (name: string) => enabled.get(name)?.discovery.type === "cached";
  const configs = resolveServers(resources, options);
  const manager = new McpServerManager({}, { ...settings, listTools: (name) => !usesSnapshots(name) });
  for (const config of configs) manager.serverSet.add(config);
  const tools = new ToolList({
    servers: manager.serverSet,
    create,
    toServerTools: (name, listed) => resourceToServerTools(enabled.get(name), name, listed),
    resourceTools,
  });
  const snapshots = new Map(
    [...enabled.values()]
      .filter(({ name }) => usesSnapshots(name))
      .map(({ name, availableTools }) => [name, availableTools]),
  );
  // The snapshots of an agent definition count as approved.
  const approve = async () => {
    for (const [name, snapshot] of snapshots)
      await manager.serverSet.get(name).internals.pins?.approveSnapshots(snapshot);
  };
  return startToolset({ manager, tools, options, snapshots, beforeStart: approve });
}

/** The servers of all enabled resources. Those with snapshots are lazy. */
function resolveServers(resources: readonly McpAgentResource[], options: AgentToolsOptions): ServerConfig[] {
  const { servers, allowInlineServers = false } = options;
  const source = typeof servers === "object" ? parseServerConfigs(servers) : servers;
  const enabled = resources.filter(({ isEnabled }) => isEnabled);
  const resolved = enabled.map((resource) => ({
    resource,
    server: resolveResourceServer(resource, { servers: source, allowInlineServers }),
  }));
  const issues = [
    ...resolved.flatMap(({ server }) => ("issue" in server ? [server.issue] : [])),
    ...findDuplicates(enabled.map(({ name }) => name)),
  ];
  if (issues.length > 0) throw configError("The agent definition", issues);
  return resolved.flatMap(({ resource, server }) => {
    if ("issue" in server) return [];
    const usesSnapshots = resource.discovery.type === "cached";
    return [usesSnapshots ? withServerSettings(server.config, { lazy: true }) : server.config];
  });
}

/** A server that was added later has no resource: all of its tools are used. */
function resourceToServerTools(
  resource: McpAgentResource | undefined,
  name: string,
  listed: readonly McpToolInfo[] | undefined,
): ServerToolsInput | undefined {
  if (resource === undefined) return toListedTools(name, listed);
  const tools = selectResourceTools(resource, listed);
  const { discovery } = resource;
  const refreshSchemaBeforeCall = discovery.type === "cached" && discovery.refreshSchemaBeforeCall;
  return tools && { tools, metadata: toResourceMetadata(resource), refreshSchemaBeforeCall };
}

/** Resource names are the server names, so they must be unique. */
function findDuplicates(names: readonly string[]): ConfigIssue[] {
  const duplicates = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...duplicates].map((name) => ({
    path: "resources",
    message: `two enabled resources are named ${JSON.stringify(name)}`,
  }));
}

function assertInlineOption(allowed: unknown): void {
  if (allowed === undefined || typeof allowed === "boolean" || allowed === "remote") return;
  const message = `expected "remote", true or false, got ${describeValue(allowed)}`;
  throw configError("The options object", [{ path: "allowInlineServers", message }]);
}
