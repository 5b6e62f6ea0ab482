import { fromSnapshot, toResourceMetadata } from "../catalog/select-agent-tools.js";
import { SkillCatalog } from "../catalog/skill-catalog.js";
import { ToolCatalog } from "../catalog/tool-catalog.js";
import type { McpClient } from "../client/mcp-client.js";
import { parseAgent } from "../config/parse-agent.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { ignoreRejection } from "../json/json.js";
import { redactLogger } from "../telemetry/logger.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import { createTools, warnUnmatchedRules } from "../tools/create-tools.js";
import type { McpTool } from "../tools/mcp-tool.js";
import {
  resolveFactoryOptions,
  SERVER_TOOLS_OPTIONS_SCHEMA,
  type ServerToolsOptions,
} from "./toolset-options.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "../manager/mcp-events.js";
import { attachReader, createReadResultTool } from "./read-result-tool.js";
import { createAddedTools, withAddedTools } from "./added-tools.js";
import { createIdentify, withServerRules } from "./tool-list.js";

/**
 * Creates LangChain tools from the snapshots of one agent resource, on a client that the caller owns. Synchronous,
 * and sends nothing. For a resource with dynamic discovery, use `createMcpToolsFromAgent`.
 *
 * @param resource a resource of an agent definition
 * @throws McpRuntimeError kind `invalid-config` if the resource or an option is invalid, or the resource uses
 * dynamic discovery
 * @example
 * ```ts
 * const client = new McpClient({ name: "weather", url: "https://weather.example.com/mcp" });
 * const tools = createMcpToolsForServer(resource, { client });
 * ```
 */
export function createMcpToolsForServer(resource: unknown, options: ServerToolsOptions): McpTool[] {
  const factory = resolveFactoryOptions(SERVER_TOOLS_OPTIONS_SCHEMA, options, "none");
  const { catalog: settings, addedTools } = factory;
  const { client } = factory.options;
  const create = { ...factory.create, ...redactLogger(factory.create, client.redactor) };
  const [parsed] = parseResource(resource, create.warn);
  if (parsed === undefined) return [];
  if (!parsed.isEnabled) {
    create.warn(`Resource "${parsed.name}" is disabled, so it has no tools.`);
    return [];
  }
  if (parsed.discovery.type === "dynamic") {
    const text = `Resource "${parsed.name}" uses dynamic discovery; createMcpToolsForServer supports snapshots only. Use createMcpToolsFromAgent or createMcpTools.`;
    throw new McpRuntimeError("invalid-config", text, { server: client.name });
  }
  const tools = parsed.availableTools.map(fromSnapshot);
  if (tools.length === 0)
    create.warn(`Resource "${parsed.name}" has no tools: its availableTools are empty.`);
  const metadata = toResourceMetadata(parsed);
  const events = new TypedEmitter<ServerManagerEvents>(() => undefined, MANAGER_CHANNELS);
  const catalog = getCatalog(client, { ...settings, store: undefined, events });
  const { refreshSchemaBeforeCall } = parsed.discovery;
  const serverTools = withServerRules({
    client,
    caller: client,
    lookup: catalog,
    tools,
    metadata,
    refreshSchemaBeforeCall,
  });
  const resultStore = create.settings.largeResults;
  const identify = createIdentify((name) => (name === client.name ? client : undefined));
  const inputs = [
    ...(resultStore === undefined ? [] : [createReadResultTool(resultStore, { identify })]),
    withAddedTools(serverTools, createAddedTools(addedTools, client, new SkillCatalog(client))),
  ];
  const created = createTools(inputs, {
    ...create,
    onApprovalDecided: (event) => events.emit("approvalDecided", event),
  });
  if (created instanceof Promise) {
    ignoreRejection(created);
    const text = `A rules function of server "${client.name}" is asynchronous, and createMcpToolsForServer is not. Use createMcpToolsFromAgent or createMcpTools.`;
    throw new McpRuntimeError("invalid-config", text, { server: client.name });
  }
  attachReader(created.tools, create);
  warnUnmatchedRules(created, { warn: create.warn, error: create.error, isComplete: true });
  return [...created.tools];
}

/** One for each client, because a catalog listens to its client, and these tools have no `close()` that would end that. */
const catalogs = new WeakMap<McpClient, ToolCatalog>();

function getCatalog(client: McpClient, options: ConstructorParameters<typeof ToolCatalog>[1]): ToolCatalog {
  const catalog = catalogs.get(client) ?? new ToolCatalog(client, options);
  catalogs.set(client, catalog);
  return catalog;
}

/** A single resource is an MCP resource, with or without `$resourceType`. */
function parseResource(resource: unknown, warn: (message: string) => void): readonly McpAgentResource[] {
  const typed =
    typeof resource === "object" && resource !== null ? { $resourceType: "mcp", ...resource } : resource;
  try {
    const { resources, warnings } = parseAgent({ resources: [typed] });
    for (const warning of warnings) warn(warning);
    return resources;
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, path: issue.path.replace(RESOURCE_PATH, "") }));
    throw configError("The agent resource", issues);
  }
}

/** The path of the resource in the agent definition that wraps it. */
const RESOURCE_PATH = /^resources\[0\]\.?/;
