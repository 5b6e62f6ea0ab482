import type { ServerDefinition } from "../config/server-definition.js";
import type { CatalogOptions, LifecycleOptions } from "../manager/manager-options.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import type { StartOptions } from "../manager/start-servers.js";
import { type FactoryOptions, resolveFactoryOptions } from "./toolset-options.js";
import { toListedTools, ToolList } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { START_OPTION_KEYS, startToolset } from "./toolset.js";

/** Options of `createMcpTools`. */
export interface McpToolsOptions extends FactoryOptions, CatalogOptions, LifecycleOptions, StartOptions {}

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
  const {
    create,
    manager: settings,
    resourceTools,
  } = resolveFactoryOptions(options, "server", START_OPTION_KEYS);
  const manager = new McpServerManager(servers, settings);
  const tools = new ToolList({
    servers: manager.serverSet,
    create,
    toServerTools: toListedTools,
    resourceTools,
  });
  return startToolset({ manager, tools, options });
}
