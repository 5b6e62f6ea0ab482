import type { Asker } from "../catalogue/tool-source.js";
import { type CallerContext, checkConcurrency } from "../client/call-tool.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { parseServers } from "../definitions/parse-server.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import { createTools } from "../tools/create-tools.js";
import type { CatalogueOptions } from "./catalogue-options.js";
import { type FactoryOptions, resolveFactoryOptions } from "./factory-options.js";
import type { McpToolset } from "./mcp-toolset.js";
import { OptionalServers } from "./optional-servers.js";
import { offerOf } from "./offer-of.js";
import { Toolset } from "./toolset.js";
import { ToolsetLife } from "./toolset-life.js";

export interface McpToolsOptions extends FactoryOptions, CatalogueOptions {
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
  const settings = resolveFactoryOptions(options, "server", ["cache", "pin", "concurrency", "signal"]);
  const { create } = settings;
  const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
  checkConcurrency("toolset", concurrency);
  const definitions = Object.entries(parseServers(servers));
  const life = new ToolsetLife(settings);
  const optional = new OptionalServers(create.warn);
  const members = definitions.map(([server, definition]) => life.add(server, definition));
  const known = new Map<string, readonly McpToolInfo[]>();
  const list = async (asker: Asker) => {
    const offers = await mapLimited(members, concurrency, async (member) => {
      const { client, catalogue } = member;
      const isOptional = servers[client.name]?.optional === true;
      const infos = await optional.list(client.name, isOptional, () => catalogue.list(asker));
      if (!known.has(client.name)) known.set(client.name, infos);
      const metadata = { slug: client.name, folder_path: undefined };
      return offerOf(life, member, {
        tools: infos.map((info) => ({ info })),
        metadata,
        refreshesSchema: false,
      });
    });
    return createTools(offers, create);
  };
  try {
    const tools = await list({ signal });
    const listFor = (context: CallerContext) => list({ context });
    return new Toolset({ life, tools, known, listFor, failures: optional.failures });
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}
