import {
  type CatalogOptions,
  type CatalogSettings,
  issuesOfCatalogue,
  resolveCatalogueOptions,
} from "../manager/catalog-options.js";
import { issuesOfLogger } from "../client/validate-logger.js";
import {
  issuesOfLife,
  type LifecycleOptions,
  type McpServerManagerOptions,
} from "../manager/manager-options.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ToolRules } from "../config/tool-rules.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import type { CreateToolsOptions } from "../tools/create-tools.js";
import { type Naming, type NamingOptions, resolveNaming } from "../tools/tool-names.js";
import { resolveToolOptions, TOOL_DEFAULTS, type ToolOptions } from "../tools/tool-options.js";
import { RuleSet } from "../tools/tool-policy.js";

/** What every factory takes. */
export interface FactoryOptions extends ToolOptions {
  readonly naming?: NamingOptions;
  /** Rules for the tools of all servers; those of a server come first. */
  readonly tools?: ToolRules;
  /** The agent's input, for arguments that an agent definition takes from it. */
  readonly agentInput?: JsonObject;
  /**
   * Adds `list_resources` and `read_resource` for every server that has resources, as soon as it is
   * known to; for the one server of `createMcpToolsForServer`, at once.
   */
  readonly resourceTools?: boolean;
  readonly logger?: Logger;
}

export interface FactorySettings {
  readonly create: CreateToolsOptions;
  readonly manager: McpServerManagerOptions;
  readonly catalogue: CatalogSettings;
  readonly resourceTools: boolean;
}

const KEYS =
  "schema structuredContent outputHandling outputValidation limits onToolError beforeToolCall afterToolCall customData meta onApproval onProgress naming tools agentInput resourceTools logger".split(
    " ",
  );

/** `defaultPrefix`: live tools carry their server's name, authored ones keep theirs. */
export function resolveFactoryOptions(
  options: FactoryOptions & CatalogOptions & LifecycleOptions,
  defaultPrefix: Naming["prefix"],
  alsoAllowed: readonly string[],
): FactorySettings {
  const issues = issuesOf(options, [...KEYS, ...alsoAllowed]);
  if (issues.length > 0) throw configError("The set of options", issues);
  const { naming, tools, agentInput = {}, logger = createConsoleLogger() } = options;
  return {
    resourceTools: options.resourceTools ?? TOOL_DEFAULTS.resourceTools,
    manager: { ...managerOptions(options), logger },
    catalogue: resolveCatalogueOptions(options, (message) => logger.warn(message)),
    create: {
      naming: resolveNaming(naming, defaultPrefix),
      settings: resolveToolOptions(options),
      rules: new RuleSet(tools),
      agentInput,
      warn: (message) => logger.warn(message),
    },
  };
}

/** What the engine under a toolset is told; failures there are the toolset's to judge. */
function managerOptions({
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

function issuesOf(options: unknown, allowed: readonly string[]): ConfigIssue[] {
  if (typeof options !== "object" || options === null) {
    return [{ path: "", message: `expected an object, found ${describeValue(options)}` }];
  }
  const unknown = Object.keys(options).filter((key) => !allowed.includes(key));
  const { agentInput, resourceTools, logger } = options as FactoryOptions;
  return [
    ...unknown.map((key) => ({ path: key, message: `is no option; options are ${allowed.join(", ")}` })),
    ...issuesOfCatalogue(options),
    ...issuesOfLife(options),
    ...issuesOfLogger(logger),
    ...(agentInput === undefined || isPlainObject(agentInput)
      ? []
      : [{ path: "agentInput", message: `expected an object, found ${describeValue(agentInput)}` }]),
    ...(resourceTools === undefined || typeof resourceTools === "boolean"
      ? []
      : [
          { path: "resourceTools", message: `expected true or false, found ${describeValue(resourceTools)}` },
        ]),
  ];
}
