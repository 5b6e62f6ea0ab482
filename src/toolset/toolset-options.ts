import {
  type CatalogOptions,
  type CatalogSettings,
  validateCatalogOptions,
  resolveCatalogOptions,
  validateLifecycle,
  type LifecycleOptions,
  type McpServerManagerOptions,
} from "../manager/manager-options.js";
import { validateLogger, createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ToolRules } from "../config/tool-rules.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import type { CreateToolsOptions } from "../tools/create-tools.js";
import { type Naming, type NamingOptions, resolveNaming } from "../tools/tool-names.js";
import { resolveToolOptions, TOOL_DEFAULTS, type ToolOptions } from "../tools/tool-options.js";
import { RuleSet } from "../tools/tool-policy.js";
import type { McpAgentResource } from "../config/agent/agent-definition.js";
import type {
  AddressedServerDefinition,
  ResolveContext,
  ServerDefinition,
} from "../config/server-definition.js";
import type { StartOptions } from "../manager/start-servers.js";

/** Options that all factories have in common. */
export interface FactoryOptions extends ToolOptions {
  /** How tools are named. */
  readonly naming?: NamingOptions;
  /** Rules for the tools of all servers. Rules of a server take precedence. */
  readonly tools?: ToolRules;
  /** The agent's input, for tool arguments that the agent definition takes from it. @default {} */
  readonly agentInput?: JsonObject;
  /**
   * Whether to add the tools `list_resources` and `read_resource` for each server that has resources, once it is
   * connected. `createMcpToolsForServer` adds them immediately.
   * @default false
   */
  readonly resourceTools?: boolean;
  /** Receives warnings. @default a logger that writes to the console */
  readonly logger?: Logger;
}

/** Resolved options of a factory. */
interface FactorySettings {
  readonly create: CreateToolsOptions;
  readonly manager: McpServerManagerOptions;
  readonly catalog: CatalogSettings;
  readonly resourceTools: boolean;
}

const FACTORY_OPTION_KEYS =
  "schema structuredContent outputHandling outputValidation limits onToolError beforeToolCall afterToolCall customData meta onApproval onProgress naming tools agentInput resourceTools logger".split(
    " ",
  );

/** `defaultPrefix`: listed tools are prefixed with their server's name, snapshots keep their names. */
export function resolveFactoryOptions(
  options: FactoryOptions & CatalogOptions & LifecycleOptions,
  defaultPrefix: Naming["prefix"],
  alsoAllowed: readonly string[],
): FactorySettings {
  const issues = validateOptions(options, [...FACTORY_OPTION_KEYS, ...alsoAllowed]);
  if (issues.length > 0) throw configError("The options object", issues);
  const { naming, tools, agentInput = {}, logger = createConsoleLogger() } = options;
  return {
    resourceTools: options.resourceTools ?? TOOL_DEFAULTS.resourceTools,
    manager: { ...toManagerOptions(options), logger },
    catalog: resolveCatalogOptions(options, (message) => logger.warn(message)),
    create: {
      naming: resolveNaming(naming, defaultPrefix),
      settings: resolveToolOptions(options),
      rules: new RuleSet(tools),
      agentInput,
      warn: (message) => logger.warn(message),
    },
  };
}

/** Without `strict` and `dropFailed`: `startServers` decides which failures are fatal. */
function toManagerOptions({
  cache,
  pin,
  concurrency,
  closeTimeoutMs,
}: CatalogOptions & LifecycleOptions): CatalogOptions & LifecycleOptions {
  return {
    ...(cache === undefined ? {} : { cache }),
    ...(pin === undefined ? {} : { pin }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(closeTimeoutMs === undefined ? {} : { closeTimeoutMs }),
  };
}

function validateOptions(options: unknown, allowed: readonly string[]): ConfigIssue[] {
  if (typeof options !== "object" || options === null) {
    return [{ path: "", message: `expected an object, got ${describeValue(options)}` }];
  }
  const unknown = Object.keys(options).filter((key) => !allowed.includes(key));
  const { agentInput, resourceTools, logger } = options as FactoryOptions;
  return [
    ...unknown.map((key) => ({ path: key, message: `unknown option; valid options: ${allowed.join(", ")}` })),
    ...validateCatalogOptions(options),
    ...validateLifecycle(options),
    ...validateLogger(logger),
    ...(agentInput === undefined || isPlainObject(agentInput)
      ? []
      : [{ path: "agentInput", message: `expected an object, got ${describeValue(agentInput)}` }]),
    ...(resourceTools === undefined || typeof resourceTools === "boolean"
      ? []
      : [{ path: "resourceTools", message: `expected true or false, got ${describeValue(resourceTools)}` }]),
  ];
}

/** Finds the server of a resource. Called when the server is first used. */
export type ServerLookup = (
  resource: McpAgentResource,
  context: ResolveContext,
) => AddressedServerDefinition | undefined | Promise<AddressedServerDefinition | undefined>;

/** Options of `createMcpToolsFromAgent`. */
export interface AgentToolsOptions extends FactoryOptions, CatalogOptions, LifecycleOptions, StartOptions {
  /** The servers of the agent's resources, by slug or name, or a function that finds them. @default {} */
  readonly servers?: Readonly<Record<string, ServerDefinition>> | ServerLookup;
  /**
   * Whether servers defined in the agent definition itself are used. An agent file is data, so by default it cannot
   * start commands or send tokens. `"remote"` allows remote servers, `true` all.
   * @default false
   */
  readonly allowInlineServers?: "remote" | boolean;
}
