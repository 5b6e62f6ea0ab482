import { selectAgentTools, toResourceMetadata } from "../catalog/select-agent-tools.js";
import { parseArgument } from "../config/parse-options.js";
import { parseAgent } from "../config/parse-agent.js";
import { AGENT_ADDRESS, getAddressOrigin, withAddressOrigin } from "../config/address-policy.js";
import type { AgentDefinition, McpAgentResource } from "../config/agent-definition.js";
import { findClosestMatch, suggestMatch } from "../errors/find-closest-match.js";
import { configError, type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { parseServerConfigs, withServerSettings, parseServer } from "../config/parse-server.js";
import type { ServerConfig } from "../config/server-config.js";
import type { McpToolInfo } from "../config/server-features.js";
import { McpServerManager } from "../manager/mcp-server-manager.js";
import {
  AGENT_TOOLS_OPTIONS_SCHEMA,
  type AgentToolsOptions,
  resolveFactoryOptions,
  type ServerLookup,
} from "./toolset-options.js";
import { toListedTools, ToolList, type ServerToolsInput } from "./tool-list.js";
import { startToolset } from "./start-toolset.js";
import type { McpToolset } from "./toolset.js";
import type {
  AddressedServerDefinition,
  ResolveContext,
  ServerDefinition,
} from "../config/server-definition.js";

/**
 * Creates LangChain tools from an agent definition. Servers whose tools are snapshots in the definition are
 * connected on the first call.
 *
 * @param agent the definition as an object or a JSON string
 * @throws McpRuntimeError kind `invalid-config` if the definition or an option is invalid, or a resource has no
 * server; otherwise why a server could not be connected
 * @example
 * ```ts
 * const agent = await readFile("agent.json", "utf8");
 * await using toolset = await createMcpToolsFromAgent(agent, {
 *   servers: { weather: { url: "https://weather.example.com/mcp" } },
 * });
 * ```
 */
export async function createMcpToolsFromAgent(
  agent: AgentDefinition | string,
  options: AgentToolsOptions = {},
): Promise<McpToolset> {
  const settings = parseArgument(
    () => resolveFactoryOptions(AGENT_TOOLS_OPTIONS_SCHEMA, options, "none"),
    () => parseAgent(agent),
  );
  const { create, redactor, addedTools } = settings;
  const { resources, warnings } = parseAgent(agent);
  for (const warning of warnings) create.warn(warning);
  const enabled = resources.filter(({ isEnabled }) => isEnabled);
  if (enabled.length === 0) create.warn(describeEmptyAgent(resources));
  const configs = resolveServers(resources, settings.options);
  const byName = new Map(enabled.map((resource) => [resource.name, resource]));
  const snapshots = new Map(
    enabled.filter(usesSnapshots).map(({ name, availableTools }) => [name, availableTools]),
  );
  const warnUnlisted = createUnlistedWarner(create.warn);
  const manager = new McpServerManager(
    {},
    { ...settings.manager, listTools: (name) => !snapshots.has(name) },
  );
  for (const config of configs) manager.serverSet.add(config);
  const tools = new ToolList({
    servers: manager.serverSet,
    create,
    redactor,
    toServerTools: (name, listed) => {
      const resource = byName.get(name);
      if (resource !== undefined && listed !== undefined) warnUnlisted(resource, listed);
      return resourceToServerTools(resource, name, listed);
    },
    addedTools,
  });
  // The snapshots of an agent definition count as approved.
  const approve = async () => {
    for (const [name, snapshot] of snapshots)
      await manager.serverSet.get(name).pins?.approveSnapshots(snapshot);
  };
  return startToolset({ manager, tools, options: settings.options, snapshots, beforeStart: approve });
}

function describeEmptyAgent({ length }: readonly McpAgentResource[]): string {
  return length === 0
    ? 'The agent definition has no resource with $resourceType "mcp", so there are no tools.'
    : `All MCP resources of the agent definition (${length}) are disabled, so there are no tools.`;
}

/** Comparing all names of a file with all names of a server would take too long. */
const MAX_SUGGESTIONS = 20;

/** Logs, once each, the tools that a resource selects and its server does not list. */
function createUnlistedWarner(warn: (message: string) => void) {
  const reported = new Set<string>();
  return ({ name, discovery, availableTools }: McpAgentResource, listed: readonly McpToolInfo[]): void => {
    if (discovery.type !== "dynamic" || discovery.allowAll) return;
    const names = new Set(listed.map((tool) => tool.name));
    for (const { name: tool } of availableTools) {
      const key = JSON.stringify([name, tool]);
      if (names.has(tool) || reported.has(key)) continue;
      reported.add(key);
      const hint = reported.size > MAX_SUGGESTIONS ? "" : suggestMatch(tool, [...names]);
      warn(`Resource "${name}": its server does not list the tool "${tool}" of availableTools.${hint}`);
    }
  };
}

function usesSnapshots({ discovery }: McpAgentResource): boolean {
  return discovery.type === "cached";
}

/** Returns the server of each enabled resource. Those with snapshots are lazy. */
function resolveServers(all: readonly McpAgentResource[], options: AgentToolsOptions): ServerConfig[] {
  const { servers: option, allowInlineServers = false } = options;
  const servers = typeof option === "object" ? parseServerConfigs(option) : option;
  const used = new Set(all.flatMap(({ name, slug }) => [name, slug]));
  const unmatched = typeof servers === "object" ? Object.keys(servers).filter((key) => !used.has(key)) : [];
  const resources = all.filter(({ isEnabled }) => isEnabled);
  const issues: ConfigIssue[] = [];
  const configs = resources.flatMap((resource) => {
    const server = resolveResourceServer(resource, { servers, unmatched, allowInlineServers });
    if ("config" in server)
      return [usesSnapshots(resource) ? withServerSettings(server.config, { lazy: true }) : server.config];
    issues.push(server.issue);
    return [];
  });
  const allIssues = [...issues, ...findDuplicates(resources.map(({ name }) => name))];
  if (allIssues.length > 0) throw configError("The agent definition", allIssues);
  return configs;
}

/** A server that was added later has no resource: all of its tools are used. */
function resourceToServerTools(
  resource: McpAgentResource | undefined,
  name: string,
  listed: readonly McpToolInfo[] | undefined,
): ServerToolsInput | undefined {
  if (resource === undefined) return toListedTools(name, listed);
  const tools = selectAgentTools(resource, listed);
  const { discovery } = resource;
  const refreshSchemaBeforeCall = discovery.type === "cached" && discovery.refreshSchemaBeforeCall;
  return tools && { tools, metadata: toResourceMetadata(resource), refreshSchemaBeforeCall };
}

/** Resource names are the server names, so they must be unique. */
function findDuplicates(names: readonly string[]): ConfigIssue[] {
  const seen = new Set<string>();
  const duplicates = names.filter((name) => seen.size === seen.add(name).size);
  return [...new Set(duplicates)].map((name) => ({
    path: "resources",
    message: `two enabled resources are named ${JSON.stringify(name)}`,
  }));
}

type ResolvedServer = { readonly config: ServerConfig } | { readonly issue: ConfigIssue };

interface ServerSource {
  /** The parsed option `servers`, or the lookup function. */
  readonly servers: Readonly<Record<string, ServerConfig>> | ServerLookup | undefined;
  /** The keys of `servers` that are the name or slug of no resource. */
  readonly unmatched: readonly string[];
  readonly allowInlineServers: "remote" | boolean;
}

/** Transports that `allowInlineServers: "remote"` allows: none that runs a local command. */
const REMOTE_TRANSPORTS: ReadonlySet<string> = new Set(["http", "sse", "websocket"]);

/** Finds the server of a resource: option `servers` first, then the agent definition itself, if allowed. */
function resolveResourceServer(
  resource: McpAgentResource,
  { servers, unmatched, allowInlineServers }: ServerSource,
): ResolvedServer {
  const { name, slug } = resource;
  if (typeof servers === "function") {
    const resolve = (context: ResolveContext) =>
      runLookup(resource, () => servers(resource, context), allowInlineServers);
    const { provider } = getAddressOrigin(servers);
    return { config: parseServer(name, withAddressOrigin({ resolve }, { source: "lookup", provider })) };
  }
  for (const key of [slug, name]) {
    const config = servers !== undefined && Object.hasOwn(servers, key) ? servers[key] : undefined;
    if (config !== undefined) return { config: withServerSettings(config, { name }) };
  }
  if (resource.server !== undefined)
    return resolveInlineServer(resource, resource.server, allowInlineServers);
  const hint = `servers: { ${JSON.stringify(resource.slug)}: { url } }, or servers: (resource) => …`;
  const message = `no server is configured for it. Add ${hint}${describeUnmatched(resource, unmatched)}`;
  return { issue: { path: pathOf(resource), message } };
}

const MAX_UNMATCHED = 5;

/** Names the key of `servers` that was probably meant for a resource, or the keys that match no resource. */
function describeUnmatched({ name, slug }: McpAgentResource, unmatched: readonly string[]): string {
  for (const wanted of [slug, name]) {
    const closest = findClosestMatch(wanted, unmatched);
    if (closest !== undefined)
      return `. ${JSON.stringify(closest)} in servers matches no resource; did you mean ${JSON.stringify(wanted)}?`;
  }
  if (unmatched.length === 0) return "";
  const keys = unmatched.slice(0, MAX_UNMATCHED).map((key) => JSON.stringify(key));
  const list = unmatched.length > MAX_UNMATCHED ? [...keys, "…"] : keys;
  return `. ${list.join(", ")} in servers ${list.length === 1 ? "matches" : "match"} no resource`;
}

/** A lookup that returns `undefined` falls back to the agent definition, if allowed. */
async function runLookup(
  resource: McpAgentResource,
  lookup: () => ReturnType<ServerLookup>,
  allowInlineServers: "remote" | boolean,
): Promise<AddressedServerDefinition> {
  const definition: AddressedServerDefinition | undefined = await lookup();
  if (definition !== undefined) return definition;
  const fallback = resolveResourceServer(resource, { servers: {}, unmatched: [], allowInlineServers });
  if ("issue" in fallback) throw configError("The agent definition", [fallback.issue]);
  // Checked above; the dynamic server parses it together with its own defaults.
  return withAddressOrigin(resource.server as unknown as AddressedServerDefinition, AGENT_ADDRESS);
}

/** Options that an agent definition may set: the address. Policies are set in option `servers`. */
const INLINE_KEYS: ReadonlySet<string> = new Set(
  "type transport url headers command args env cwd encoding functionName qualifier region endpoint".split(
    " ",
  ),
);

function resolveInlineServer(
  resource: McpAgentResource,
  server: object,
  allowed: "remote" | boolean,
): ResolvedServer {
  const path = `${pathOf(resource)}.server`;
  if (allowed === false) {
    const message =
      'servers in an agent definition are not allowed unless allowInlineServers is "remote" or true';
    return { issue: { path, message } };
  }
  const unknownKeys = Object.keys(server).filter((key) => !INLINE_KEYS.has(key));
  if (unknownKeys.length > 0) {
    const message = `${unknownKeys.join(", ")} cannot be set in an agent definition; allowed: ${[...INLINE_KEYS].join(", ")}`;
    return { issue: { path, message } };
  }
  try {
    const parsed = parseServer(resource.name, server as ServerDefinition);
    const config = withServerSettings(parsed, { addressOrigin: AGENT_ADDRESS });
    const { kind } = config.address;
    if (allowed === true || REMOTE_TRANSPORTS.has(kind)) return { config };
    const message = `has transport ${kind}; allowInlineServers: "remote" allows remote servers only`;
    return { issue: { path, message } };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
    return { issue: { path, message: problems } };
  }
}

function pathOf({ name }: McpAgentResource): string {
  return `resource ${JSON.stringify(name)}`;
}
