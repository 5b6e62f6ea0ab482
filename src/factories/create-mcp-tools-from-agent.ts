import { toolsOfResource } from "../catalogue/agent-tools.js";
import type { CallerContext, RequestOptions } from "../client/call-tool.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import { parseAgent } from "../definitions/parse-agent.js";
import { parseServers } from "../definitions/parse-server.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import { createTools } from "../tools/create-tools.js";
import type { AgentToolsOptions } from "./agent-tools-options.js";
import { resolveFactoryOptions } from "./factory-options.js";
import type { McpToolset } from "./mcp-toolset.js";
import { resourceMetadata } from "./resource-metadata.js";
import { OptionalServers } from "./optional-servers.js";
import { serverOfResource } from "./server-of-resource.js";
import { toolOffer } from "./tool-offer.js";
import { Toolset } from "./toolset.js";
import { ToolsetLife } from "./toolset-life.js";

const CONCURRENCY = 16;

/**
 * Tools of an agent definition, given as an object or as JSON text. With tool snapshots nothing is
 * sent before the first call.
 */
export async function createMcpToolsFromAgent(
  agent: unknown,
  options: AgentToolsOptions = {},
): Promise<McpToolset> {
  const { create, client: clientOptions } = resolveFactoryOptions(options, "none", [
    "servers",
    "allowInlineServers",
    "signal",
  ]);
  checkInline(options.allowInlineServers);
  const { resources, warnings } = parseAgent(agent);
  for (const warning of warnings) create.warn(warning);
  if (typeof options.servers === "object") parseServers(options.servers);
  const enabled = resources.filter(({ isEnabled }) => isEnabled);
  const found = enabled.map((resource) => ({ resource, server: serverOfResource(resource, options) }));
  const issues = [
    ...found.flatMap(({ server }) => ("issue" in server ? [server.issue] : [])),
    ...namesTwice(enabled.map(({ name }) => name)),
  ];
  if (issues.length > 0) throw definitionError("The agent definition", issues);
  const life = new ToolsetLife(clientOptions);
  const optional = new OptionalServers(create.warn);
  const clients = found.map(({ resource, server }) => {
    if ("issue" in server) throw definitionError("The agent definition", [server.issue]);
    return { resource, client: life.add(resource.name, server.definition), server: server.definition };
  });
  const list = async (request: RequestOptions) => {
    const offers = await mapLimited(clients, CONCURRENCY, async ({ resource, client, server }) => {
      const listTools = () => client.listTools(request);
      const tools = await toolsOfResource(resource, {
        listTools: () => optional.list(resource.name, server.optional === true, listTools),
      });
      return toolOffer({
        client,
        caller: life.callerOf(client),
        tools,
        metadata: resourceMetadata(resource),
      });
    });
    return createTools(offers, create);
  };
  try {
    const tools = await list({ signal: options.signal });
    const listFor = (context: CallerContext) => list({ context });
    return new Toolset<string>({ life, tools, listFor, failures: optional.failures });
  } catch (error) {
    await life.close().catch(() => undefined);
    throw error;
  }
}

/** Clients are known by the names of their resources. */
function namesTwice(names: readonly string[]): DefinitionIssue[] {
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...twice].map((name) => ({
    path: "resources",
    message: `two enabled resources are named ${JSON.stringify(name)}`,
  }));
}

function checkInline(allowed: unknown): void {
  if (allowed === undefined || typeof allowed === "boolean" || allowed === "remote") return;
  const message = `expected "remote", true or false, found ${describeFound(allowed)}`;
  throw definitionError("The set of options", [{ path: "allowInlineServers", message }]);
}
