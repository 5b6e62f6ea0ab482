import {
  type CatalogueOptions,
  type CatalogueSettings,
  issuesOfCatalogue,
  resolveCatalogueOptions,
} from "../manager/catalog-options.js";
import { issuesOfLogger } from "../client/validate-logger.js";
import { issuesOfLife, type LifeOptions, type McpServerManagerOptions } from "../manager/manager-options.js";
import { definitionError } from "../errors/config-error.js";
import { describeFound } from "../json/describe-value.js";
import { isJsonObject, type JsonObject } from "../json/json.js";
import type { ToolRules } from "../config/tool-rules.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
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
  readonly catalogue: CatalogueSettings;
  readonly resourceTools: boolean;
}

const KEYS =
  "schema structuredContent outputHandling outputValidation limits onFailure beforeCall afterCall customData meta onApproval onProgress naming tools agentInput resourceTools logger".split(
    " ",
  );

/** `defaultPrefix`: live tools carry their server's name, authored ones keep theirs. */
export function resolveFactoryOptions(
  options: FactoryOptions & CatalogueOptions & LifeOptions,
  defaultPrefix: Naming["prefix"],
  alsoAllowed: readonly string[],
): FactorySettings {
  const issues = issuesOf(options, [...KEYS, ...alsoAllowed]);
  if (issues.length > 0) throw definitionError("The set of options", issues);
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
  closeMs,
}: CatalogueOptions & LifeOptions): CatalogueOptions & LifeOptions {
  return {
    ...(cache === undefined ? {} : { cache }),
    ...(pin === undefined ? {} : { pin }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(closeMs === undefined ? {} : { closeMs }),
  };
}

function issuesOf(options: unknown, allowed: readonly string[]): DefinitionIssue[] {
  if (typeof options !== "object" || options === null) {
    return [{ path: "", message: `expected an object, found ${describeFound(options)}` }];
  }
  const unknown = Object.keys(options).filter((key) => !allowed.includes(key));
  const { agentInput, resourceTools, logger } = options as FactoryOptions;
  return [
    ...unknown.map((key) => ({ path: key, message: `is no option; options are ${allowed.join(", ")}` })),
    ...issuesOfCatalogue(options),
    ...issuesOfLife(options),
    ...issuesOfLogger(logger),
    ...(agentInput === undefined || isJsonObject(agentInput)
      ? []
      : [{ path: "agentInput", message: `expected an object, found ${describeFound(agentInput)}` }]),
    ...(resourceTools === undefined || typeof resourceTools === "boolean"
      ? []
      : [
          { path: "resourceTools", message: `expected true or false, found ${describeFound(resourceTools)}` },
        ]),
  ];
}
