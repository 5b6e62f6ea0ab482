import type { McpClientOptions } from "../client/mcp-client.js";
import { definitionError, describeFound } from "../definitions/definition-issues.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { ToolRules } from "../definitions/tool-rules.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import type { CreateToolsOptions } from "../tools/create-tools.js";
import { type Naming, NAMING_DEFAULTS, type NamingOptions } from "../tools/tool-names.js";
import { resolveToolOptions, type ToolOptions } from "../tools/tool-options.js";
import { RuleSet } from "../tools/tool-policy.js";

/** What every factory takes. */
export interface FactoryOptions extends ToolOptions {
  readonly naming?: NamingOptions;
  /** Rules for the tools of all servers; those of a server come first. */
  readonly tools?: ToolRules;
  /** The agent's input, for arguments that an agent definition takes from it. */
  readonly agentInput?: JsonObject;
  readonly logger?: Logger;
}

export interface FactorySettings {
  readonly create: CreateToolsOptions;
  readonly client: McpClientOptions;
}

/** `defaultPrefix`: live tools carry their server's name, authored ones keep theirs. */
export function resolveFactoryOptions(
  options: FactoryOptions,
  defaultPrefix: Naming["prefix"],
): FactorySettings {
  const { naming = {}, tools, agentInput = {}, logger = createConsoleLogger() } = options;
  if (!isJsonObject(agentInput)) {
    const message = `expected an object, found ${describeFound(agentInput)}`;
    throw definitionError("The set of options", [{ path: "agentInput", message }]);
  }
  return {
    client: { logger },
    create: {
      naming: { ...NAMING_DEFAULTS, prefix: defaultPrefix, ...naming },
      settings: resolveToolOptions(options),
      rules: new RuleSet(tools),
      agentInput,
      warn: (message) => logger.warn(message),
    },
  };
}
