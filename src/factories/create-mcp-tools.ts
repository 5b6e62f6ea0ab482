import { mapLimited } from "../concurrency/map-limited.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import { isJsonObject } from "../definitions/json.js";
import { parseServers } from "../definitions/parse-server.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { createTools } from "../tools/create-tools.js";
import { RuleSet } from "../tools/tool-policy.js";
import { type FactoryOptions, resolveFactoryOptions } from "./factory-options.js";
import type { McpToolset } from "./mcp-toolset.js";
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
  if (!isJsonObject(servers)) {
    const message = `expected an object { name: definition }, found ${describeFound(servers)}`;
    throw definitionError("The list of servers", [{ path: "", message }]);
  }
  parseServers(servers);
  const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
  const settings = resolveFactoryOptions(options, "server");
  const life = new ToolsetLife(settings.client);
  try {
    const failures = new Map<string, McpRuntimeError>();
    const offers = await mapLimited(Object.entries(servers), concurrency, async ([server, definition]) => {
      const client = life.add(server, definition);
      const listing = client.listTools({ signal });
      const infos =
        definition.optional === true
          ? await toleratingFailure(listing, server, failures, settings.create.warn)
          : await listing;
      const tools = infos.map((info) => ({ info }));
      const metadata = { slug: server, folder_path: undefined };
      return {
        server,
        caller: life.callerOf(server, client),
        tools,
        rules: new RuleSet(definition.tools),
        metadata,
      };
    });
    return new Toolset(life, createTools(offers, settings.create), failures);
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}

async function toleratingFailure(
  listing: Promise<McpToolInfo[]>,
  server: string,
  failures: Map<string, McpRuntimeError>,
  warn: (message: string) => void,
): Promise<McpToolInfo[]> {
  try {
    return await listing;
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    failures.set(server, error);
    warn(`Optional server "${server}" is left out: ${error.message}`);
    return [];
  }
}
