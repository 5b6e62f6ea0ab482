import { type CallerContext, checkConcurrency, type RequestOptions } from "../client/call-tool.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { parseServers } from "../definitions/parse-server.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import { createTools } from "../tools/create-tools.js";
import { type FactoryOptions, resolveFactoryOptions } from "./factory-options.js";
import type { McpToolset } from "./mcp-toolset.js";
import { OptionalServers } from "./optional-servers.js";
import { toolOffer } from "./tool-offer.js";
import { Toolset } from "./toolset.js";
import { ToolsetLife } from "./toolset-life.js";

export interface McpToolsOptions extends FactoryOptions {
  /** How many servers are connected at the same time. */
  readonly concurrency?: number;
  /** Gives up the start, and closes what was opened. */
  readonly signal?: AbortSignal;
}

const DEFAULT_CONCURRENCY = 16;

/**
 * Tools of live servers: connects to all and lists what they offer. A server that fails throws,
 * after everything that was opened is closed again, unless it is `optional`.
 */
export async function createMcpTools<const Servers extends Readonly<Record<string, ServerDefinition>>>(
  servers: Servers,
  options: McpToolsOptions = {},
): Promise<McpToolset<keyof Servers & string>> {
  const { create, client: clientOptions } = resolveFactoryOptions(options, "server", [
    "concurrency",
    "signal",
  ]);
  const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
  checkConcurrency("toolset", concurrency);
  const definitions = Object.entries(parseServers(servers));
  const life = new ToolsetLife(clientOptions);
  const optional = new OptionalServers(create.warn);
  const clients = definitions.map(([server, definition]) => life.add(server, definition));
  const list = async (request: RequestOptions) => {
    const offers = await mapLimited(clients, concurrency, async (client) => {
      const isOptional = servers[client.name]?.optional === true;
      const infos = await optional.list(client.name, isOptional, () => client.listTools(request));
      const tools = infos.map((info) => ({ info }));
      const metadata = { slug: client.name, folder_path: undefined };
      return toolOffer({ client, caller: life.callerOf(client), tools, metadata });
    });
    return createTools(offers, create);
  };
  try {
    const tools = await list({ signal });
    const listFor = (context: CallerContext) => list({ context });
    return new Toolset({ life, tools, listFor, failures: optional.failures });
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}
