import type { z } from "zod";
import { McpClient } from "../client/mcp-client.js";
import type { McpAgentResource } from "../config/agent-definition.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../config/parse-options.js";
import type {
  AddressedServerDefinition,
  ResolveContext,
  ServerDefinition,
} from "../config/server-definition.js";
import { describeServerOption } from "../config/server-schema.js";
import type { ToolRules } from "../config/tool-rules.js";
import { Redactor } from "../errors/redaction.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import {
  CATALOG_FIELDS,
  type CatalogOptions,
  LIFECYCLE_FIELDS,
  type LifecycleOptions,
  type McpServerManagerOptions,
  resolveCatalogOptions,
  START_FIELDS,
  type StartOptions,
} from "../manager/manager-options.js";
import type { RegistryServers } from "../manager/registry-servers.js";
import { createConsoleLogger, redactLogger } from "../telemetry/logger.js";
import type { CreateToolsOptions } from "../tools/create-tools.js";
import type { ToolFilter } from "../tools/tool-filter.js";
import { type Naming, NAMING_SCHEMA, resolveNaming } from "../tools/tool-names.js";
import {
  resolveToolOptions,
  TOOL_DEFAULTS,
  TOOL_OPTION_FIELDS,
  type ToolOptions,
} from "../tools/tool-options.js";
import { RuleSet } from "../tools/rule-set.js";

const FACTORY_FIELDS = {
  ...TOOL_OPTION_FIELDS,
  /**
   * How tools are named.
   *
   * @default the defaults of `NamingOptions`
   */
  naming: NAMING_SCHEMA,
  /**
   * Rules for the tools of all servers. Rules of a server take precedence, except for guards, of which the strictest
   * counts: a tool that either excludes is excluded, and a call needs approval if either requires it.
   *
   * @default all tools, without rules
   */
  tools: option.any<ToolRules>(),
  /**
   * Decides which run sees and calls which tool: `toolsFor(config)`, `mcpMiddleware`, `McpToolNode` and every call ask it,
   * each time. Only `true` allows a tool; what throws excludes it and is logged. For a run that may not see it, a tool
   * does not exist (kind `not-found`). `toolset.tools`, which all runs share, has all tools.
   * @default all runs see all tools
   * @example
   * ```ts
   * filter: (tool, { config }) => tool.mcp.annotations?.readOnlyHint === true || config.configurable?.role === "admin"
   * ```
   */
  filter: option.function<ToolFilter>(),
  /** The agent's input, for tool arguments that the agent definition takes from it. @default {} */
  agentInput: option.opaque<JsonObject>("an object", isPlainObject),
  /**
   * Whether to add the tools `list_resources` and `read_resource` for each server that has resources, once it is
   * connected. `createMcpToolsForServer` adds them immediately.
   * @default false
   */
  resourceTools: option.boolean,
  /**
   * Whether to add the tools `list_skills` and `read_skill` for each server that has skills, once it is connected.
   * `createMcpToolsForServer` adds them immediately. Skills are instructions that the server has written: see
   * `requireApproval` in the rules of tools and the option `pin`.
   * @default false
   */
  skillTools: option.boolean,
  /** Receives warnings. @default a logger that writes to the console */
  logger: option.logger,
};

/** Options that all factories have in common. */
export interface FactoryOptions extends ToolOptions, OptionsOf<typeof FACTORY_FIELDS> {}

/** Options of `createMcpTools`. */
export interface McpToolsOptions extends FactoryOptions, CatalogOptions, LifecycleOptions, StartOptions {
  /**
   * Servers that others define in a shared store: `registryServers(store, { allow })`. They are connected like `optional`
   * servers, and join and leave the running toolset.
   * @default none
   */
  readonly registry?: RegistryServers;
}

/** Options of `createMcpToolsForServer`. */
export interface ServerToolsOptions extends FactoryOptions {
  /** The client that calls the tools. The caller closes it. */
  readonly client: McpClient;
}

/** Finds the server of a resource. Called when the server is first used. */
export type ServerLookup = (
  resource: McpAgentResource,
  context: ResolveContext,
) => AddressedServerDefinition | undefined | Promise<AddressedServerDefinition | undefined>;

/** Options of `createMcpToolsFromAgent`. */
export interface AgentToolsOptions extends Omit<McpToolsOptions, "registry"> {
  /** The servers of the agent's resources, by slug or name, or a function that finds them. @default {} */
  readonly servers?: Readonly<Record<string, ServerDefinition>> | ServerLookup;
  /**
   * Whether servers defined in the agent definition itself are used. An agent file is data, so by default it cannot
   * start commands or send tokens. `"remote"` allows remote servers, `true` all.
   * @default false
   */
  readonly allowInlineServers?: "remote" | boolean;
}

const TOOLS_FIELDS = { ...FACTORY_FIELDS, ...CATALOG_FIELDS, ...LIFECYCLE_FIELDS, ...START_FIELDS };

export const TOOLS_OPTIONS_SCHEMA = optionsSchema<McpToolsOptions>(
  { ...TOOLS_FIELDS, registry: option.withMethods<RegistryServers>(["attach"], "registryServers(…)") },
  { describeKey: describeServerOption },
);
export const AGENT_TOOLS_OPTIONS_SCHEMA = optionsSchema<AgentToolsOptions>(
  {
    ...TOOLS_FIELDS,
    // Validated as server definitions.
    servers: option.any(),
    allowInlineServers: option.oneOf("remote", true, false),
  },
  { describeKey: describeServerOption },
);
export const SERVER_TOOLS_OPTIONS_SCHEMA = optionsSchema<ServerToolsOptions>(
  { ...FACTORY_FIELDS, client: option.opaque("an McpClient", (value) => value instanceof McpClient) },
  { required: ["client"] },
);

/** Without `strict` and `dropFailed`: `startServers` decides which failures are fatal. */
const MANAGER_KEYS = Object.keys({
  ...CATALOG_FIELDS,
  ...LIFECYCLE_FIELDS,
}) as readonly (keyof (CatalogOptions & LifecycleOptions))[];

/**
 * Validates the options of a factory and fills in the defaults. `defaultPrefix`: listed tools are prefixed with
 * their server's name, snapshots keep their names.
 */
export function resolveFactoryOptions<Options extends FactoryOptions & CatalogOptions & LifecycleOptions>(
  schema: z.ZodType<Options>,
  options: Options,
  defaultPrefix: Naming["prefix"],
) {
  const parsed = parseOptions(schema, options, { subject: "The options object" });
  const { naming, tools, filter, agentInput, logger = createConsoleLogger() } = parsed;
  const redactor = new Redactor();
  const log = redactLogger(logger, redactor);
  const create: Omit<CreateToolsOptions, "onApprovalDecided"> = {
    naming: resolveNaming(naming, defaultPrefix),
    settings: resolveToolOptions(parsed),
    rules: new RuleSet(tools),
    filter,
    agentInput,
    ...log,
  };
  const shared = Object.fromEntries(MANAGER_KEYS.map((key) => [key, parsed[key]]));
  const manager: McpServerManagerOptions = omitUndefined({ ...shared, logger });
  return {
    options: parsed,
    create,
    redactor,
    manager,
    catalog: resolveCatalogOptions(parsed, log.warn),
    addedTools: {
      resources: parsed.resourceTools ?? TOOL_DEFAULTS.resourceTools,
      skills: parsed.skillTools ?? TOOL_DEFAULTS.skillTools,
    },
  };
}
