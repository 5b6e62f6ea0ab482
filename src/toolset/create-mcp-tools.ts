import { parseArgument } from "../config/parse-options.js";
import { type McpServersDocument, parseServerConfigs } from "../config/parse-server.js";
import type { ServerDefinition } from "../config/server-definition.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import { type McpToolsOptions, resolveFactoryOptions, TOOLS_OPTIONS_SCHEMA } from "./toolset-options.js";
import { toListedTools, ToolList } from "./tool-list.js";
import { startToolset } from "./start-toolset.js";
import type { McpToolset } from "./toolset.js";

/** Like the overload below, with the servers as most MCP clients write them. */
export async function createMcpTools<Name extends string>(
  servers: McpServersDocument<Name>,
  options?: McpToolsOptions,
): Promise<McpToolset<Name>>;
/**
 * Connects to MCP servers and creates LangChain tools from the tools they list. If a server fails that is neither
 * `optional` nor cached, everything is closed again and its error is thrown.
 *
 * @param servers the servers, by name: `{ weather: { url } }`, or `{ mcpServers: { weather: { url } } }` as most MCP clients
 * write it
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
// Not a type parameter for all servers: TypeScript would not report unknown keys of their definitions.
export async function createMcpTools<Name extends string>(
  servers: Readonly<Record<Name, ServerDefinition>>,
  options?: McpToolsOptions,
): Promise<McpToolset<Name>>;
export async function createMcpTools<Name extends string>(
  servers: Readonly<Record<Name, ServerDefinition>> | McpServersDocument<Name>,
  options: McpToolsOptions = {},
): Promise<McpToolset<Name>> {
  const settings = parseArgument(
    () => resolveFactoryOptions(TOOLS_OPTIONS_SCHEMA, options, "server"),
    () => parseServerConfigs(servers),
  );
  const { create, redactor, addedTools } = settings;
  const manager = new McpServerManager(servers, settings.manager);
  const tools = new ToolList({
    servers: manager.serverSet,
    create,
    redactor,
    toServerTools: toListedTools,
    addedTools,
  });
  const { registry } = settings.options;
  if (manager.configured.length === 0 && registry === undefined) {
    const message = "expected at least one server: { weather: { url } } or { files: { command } }";
    throw configError("The list of servers", [{ path: "", message }]);
  }
  const attach = async () => registry?.attach(manager);
  return startToolset({ manager, tools, options: settings.options, beforeStart: attach });
}
