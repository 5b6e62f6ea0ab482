import type { ServerDefinition } from "../config/server-definition.js";
import type { CatalogOptions } from "../manager/catalog-options.js";
import type { LifecycleOptions } from "../manager/manager-options.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import type { StartOptions } from "../manager/start-servers.js";
import { type FactoryOptions, resolveFactoryOptions } from "./toolset-options.js";
import { listedOffer, LiveTools } from "./tool-list.js";
import type { McpToolset } from "./mcp-toolset.js";
import { START_KEYS, startToolset } from "./start-toolset.js";

export interface McpToolsOptions extends FactoryOptions, CatalogOptions, LifecycleOptions, StartOptions {}

/**
 * Tools of live servers: connects to all and lists what they offer. A server that fails throws, after
 * everything that was opened is closed again, unless it is `optional` or its tools are in the cache.
 */
export async function createMcpTools<const Servers extends Readonly<Record<string, ServerDefinition>>>(
  servers: Servers,
  options: McpToolsOptions = {},
): Promise<McpToolset<keyof Servers & string>> {
  const { create, manager: settings, resourceTools } = resolveFactoryOptions(options, "server", START_KEYS);
  const manager = new McpServerManager(servers, settings);
  const tools = new LiveTools({
    fleet: manager.fleet,
    create,
    offer: listedOffer,
    resourceTools,
  });
  return startToolset({ manager, tools, options });
}
