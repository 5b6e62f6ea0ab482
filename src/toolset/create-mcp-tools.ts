import type { ServerDefinition } from "../config/server-definition.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import { type McpToolsOptions, resolveFactoryOptions, TOOLS_OPTIONS_SCHEMA } from "./toolset-options.js";
import { toListedTools, ToolList } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { startToolset } from "./toolset.js";

/**
 * Connects to MCP servers and creates LangChain tools from the tools they list. If a server fails that is neither
 * `optional` nor cached, everything is closed again and its error is thrown.
 *
 * @param servers the servers, by name
 * @throws McpRuntimeError kind `invalid-config` if a server or an option is invalid or tool names collide; otherwise
 * why a server could not be connected, such as `not-sent`, `timeout` or `unauthorized`
 * @example
 * ```ts
 * await using toolset = await createMcpTools({
 *   weather: { url: "https://weather.example.com/mcp" },
 *   files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] },
 * });
 * const agent = createAgent({ model: "openai:gpt-5", tools: toolset.tools });
 * ```
 */
export async function createMcpTools<const Servers extends Readonly<Record<string, ServerDefinition>>>(
  servers: Servers,
  options: McpToolsOptions = {},
): Promise<McpToolset<keyof Servers & string>> {
  const settings = resolveFactoryOptions(TOOLS_OPTIONS_SCHEMA, options, "server");
  const { create, resourceTools } = settings;
  const manager = new McpServerManager(servers, settings.manager);
  const tools = new ToolList({
    servers: manager.serverSet,
    create,
    toServerTools: toListedTools,
    resourceTools,
  });
  return startToolset({ manager, tools, options: settings.options });
}
