import { Semaphore } from "../async/semaphore.js";
import type { ArgumentProperty } from "../config/agent/argument-property.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ToolRule } from "../config/tool-rules.js";
import { sanitizeDescription, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { McpTool } from "./mcp-tool.js";
import { assignToolNames, type Naming } from "./tool-names.js";
import type { ToolSettings } from "./tool-options.js";
import { type RuleSet, ToolPolicy } from "./tool-policy.js";
import type { ToolCaller, ToolLookupSource } from "./tool-runtime.js";
import { ToolSchema } from "./tool-schema.js";

interface ToolInput {
  readonly info: McpToolInfo;
  /** Arguments that the agent definition sets, by their path. */
  readonly argumentProperties?: Readonly<Record<string, ArgumentProperty>>;
}

/** The tools of one server. */
export interface ServerTools {
  readonly server: string;
  readonly caller: ToolCaller;
  readonly lookup: ToolLookupSource;
  /** The tools come from a snapshot: compare their schemas with the server's before a call. */
  readonly refreshSchemaBeforeCall: boolean;
  readonly tools: readonly ToolInput[];
  readonly rules: RuleSet;
  readonly trustAnnotations: boolean;
  /** Added to the metadata of each tool. */
  readonly metadata: JsonObject;
}

export interface CreateToolsOptions {
  readonly naming: Naming;
  readonly settings: ToolSettings;
  /** Rules for the tools of all servers. */
  readonly rules: RuleSet;
  readonly agentInput: JsonObject;
  readonly warn: (message: string) => void;
}

/** Creates a LangChain tool for every tool that the rules keep. */
export function createTools(servers: readonly ServerTools[], options: CreateToolsOptions): McpTool[] {
  const selected = servers.flatMap((serverTools) => selectTools(serverTools, options));
  const originalNames = selected.map(({ source, tool }) => ({ server: source.server, tool: tool.info.name }));
  const names = assignToolNames(originalNames, options.naming);
  return selected.map((tool, index) => createTool(tool, names[index] ?? "", options));
}

interface SelectedTool {
  readonly source: ServerTools;
  readonly tool: ToolInput;
  readonly rule: ToolRule;
}

function selectTools(source: ServerTools, { rules, warn }: CreateToolsOptions): SelectedTool[] {
  const policy = new ToolPolicy([source.rules, rules], (message) =>
    warn(`Server "${source.server}": ${message}`),
  );
  return source.tools.flatMap((tool) => {
    const rule = policy.ruleFor(tool.info);
    return rule === false ? [] : [{ source, tool, rule }];
  });
}

/** Call after the tools were created. `rules` are those for all servers; `undefined` skips them. */
export function warnUnmatchedRules(
  servers: readonly ServerTools[],
  { rules, warn }: Pick<CreateToolsOptions, "warn"> & { readonly rules: RuleSet | undefined },
): void {
  for (const { server, rules: serverRules } of servers) {
    for (const pattern of serverRules.unmatchedPatterns())
      warn(`Server "${server}": the rule for "${pattern}" does not match any of its tools.`);
  }
  for (const pattern of rules?.unmatchedPatterns() ?? [])
    warn(`The rule for "${pattern}" does not match a tool of any server.`);
}

function createTool(
  { source, tool, rule }: SelectedTool,
  name: string,
  options: CreateToolsOptions,
): McpTool {
  const { info, argumentProperties = {} } = tool;
  const { settings, agentInput } = options;
  const { server, caller, lookup, refreshSchemaBeforeCall, trustAnnotations } = source;
  const warn = (message: string) => options.warn(`Server "${server}", tool "${info.name}": ${message}`);
  return new McpTool({
    name,
    description: describe(info, rule, server),
    metadata: source.metadata,
    runtime: {
      server,
      schema: new ToolSchema(info, { argumentProperties, rule, settings, warn }),
      lookup,
      refreshSchemaBeforeCall,
      rule,
      caller,
      settings,
      agentInput,
      trustAnnotations,
      semaphore: rule.maxConcurrent === undefined ? undefined : new Semaphore(rule.maxConcurrent),
      warn,
    },
  });
}

function describe({ name, title, description }: McpToolInfo, rule: ToolRule, server: string): string {
  const text = sanitizeDescription(rule.description ?? description ?? title ?? "");
  return text === ""
    ? sanitizeDescription(`Tool "${stripHiddenCharacters(name)}" of server "${server}".`)
    : text;
}
