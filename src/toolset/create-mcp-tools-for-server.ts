import { toAgentTool } from "../catalog/select-resource-tools.js";
import { McpClient } from "../client/mcp-client.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { parseAgent } from "../config/parse-agent.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { createTools, warnOfUnmetRules } from "../tools/create-tools.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { type FactoryOptions, resolveFactoryOptions } from "./toolset-options.js";
import { createMember } from "../manager/server-internals.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "../manager/server-status.js";
import { resourceMetadata } from "./resource-metadata.js";
import { withResourceTools } from "./resource-tools.js";
import { toolOffer } from "./with-server-rules.js";

export interface ServerToolsOptions extends FactoryOptions {
  /** A client that is yours: you close it. */
  readonly client: McpClient;
}

/**
 * Tools for the snapshots of one agent resource, on a client that you own. Nothing is sent. A
 * resource whose tools are found out live needs a factory that may wait: `createMcpToolsFromAgent`.
 */
export function createMcpToolsForServer(resource: unknown, options: ServerToolsOptions): McpTool[] {
  const { create, catalogue: settings, resourceTools } = resolveFactoryOptions(options, "none", ["client"]);
  const { client } = options;
  if (!(client instanceof McpClient)) {
    const message = `expected an McpClient, found ${describeValue(client)}`;
    throw configError("The set of options", [{ path: "client", message }]);
  }
  const [parsed] = parseResource(resource, create.warn);
  if (parsed === undefined || !parsed.isEnabled) return [];
  if (parsed.discovery.type === "dynamic") {
    const text = `Resource "${parsed.name}" is found out live; createMcpToolsForServer takes snapshots only. Use createMcpToolsFromAgent, or createMcpTools.`;
    throw new McpRuntimeError("invalid-config", text, { server: client.name });
  }
  const tools = parsed.availableTools.map(toAgentTool);
  const metadata = resourceMetadata(parsed);
  const { catalogue: view } = createMember({
    client,
    address: {},
    settings: { ...settings, store: undefined, pin: undefined },
    witness: new TypedEmitter<ServerManagerEvents>(() => undefined, MANAGER_CHANNELS),
  });
  const refreshesSchema = parsed.discovery.refreshSchemaBeforeCall;
  const offer = toolOffer({ client, caller: client, view, tools, metadata, refreshesSchema });
  const offers = [resourceTools ? withResourceTools(offer, { reader: client }) : offer];
  const made = createTools(offers, create);
  warnOfUnmetRules(offers, create);
  return made;
}

/** What is given alone is one MCP resource, whether it says so or not. */
function parseResource(resource: unknown, warn: (message: string) => void): readonly McpAgentResource[] {
  const marked =
    typeof resource === "object" && resource !== null ? { $resourceType: "mcp", ...resource } : resource;
  try {
    const { resources, warnings } = parseAgent({ resources: [marked] });
    for (const warning of warnings) warn(warning);
    return resources;
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, path: issue.path.replace(AT, "") }));
    throw configError("The agent resource", issues);
  }
}

/** Where an agent with this resource alone has it. */
const AT = /^resources\[0\]\.?/;
