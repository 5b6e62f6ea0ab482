import { toolsOfResource } from "../catalogue/agent-tools.js";
import type { Asker } from "../catalogue/tool-source.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import { parseAgent } from "../definitions/parse-agent.js";
import { parseServers } from "../definitions/parse-server.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import { createTools } from "../tools/create-tools.js";
import type { AgentToolsOptions } from "./agent-tools-options.js";
import { resolveFactoryOptions } from "./factory-options.js";
import type { McpToolset } from "./mcp-toolset.js";
import { resourceMetadata } from "./resource-metadata.js";
import { OptionalServers } from "./optional-servers.js";
import { serverOfResource } from "./server-of-resource.js";
import { offerOf } from "./offer-of.js";
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
  const settings = resolveFactoryOptions(options, "none", [
    "cache",
    "pin",
    "servers",
    "allowInlineServers",
    "signal",
  ]);
  const { create } = settings;
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
  const life = new ToolsetLife(settings);
  const optional = new OptionalServers(create.warn);
  const members = found.map(({ resource, server }) => {
    if ("issue" in server) throw definitionError("The agent definition", [server.issue]);
    const { definition } = server;
    return {
      resource,
      member: life.add(resource.name, definition),
      isOptional: definition.optional === true,
    };
  });
  const known = new Map<string, readonly McpToolInfo[]>();
  const list = async (asker: Asker) => {
    const offers = await mapLimited(members, CONCURRENCY, async ({ resource, member, isOptional }) => {
      const { discovery, availableTools } = resource;
      // What was saved with the agent is what somebody approved.
      if (discovery.type === "cached") await member.pins?.approve(availableTools);
      const listing = () => member.catalogue.list(asker);
      const tools = await toolsOfResource(resource, () => optional.list(resource.name, isOptional, listing));
      if (!known.has(resource.name))
        known.set(
          resource.name,
          tools.map(({ info }) => info),
        );
      const refreshesSchema = discovery.type === "cached" && discovery.refreshSchemaBeforeCall;
      return offerOf(life, member, { tools, metadata: resourceMetadata(resource), refreshesSchema });
    });
    return createTools(offers, create);
  };
  try {
    const tools = await list({ signal: options.signal });
    return new Toolset<string>({
      life,
      tools,
      known,
      listFor: (context) => list({ context }),
      failures: optional.failures,
    });
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
