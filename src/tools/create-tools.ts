import { Semaphore } from "../async/semaphore.js";
import type { ArgumentProperty } from "../config/agent-definition.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/list-items.js";
import type { ToolRule } from "../config/tool-rules.js";
import { sanitizeDescription, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { requestApproval } from "./approval/request-approval.js";
import { openInput } from "./elicitation/interrupt-for-input.js";
import { McpTool } from "./mcp-tool.js";
import { prepareCall } from "./prepare-call.js";
import { assignToolNames, type Naming } from "./tool-names.js";
import { type RuleSet, resolveRule } from "./tool-policy.js";
import type { CallInterceptor, ToolRuntime } from "./tool-run.js";
import { ToolSchema } from "./tool-schema.js";

interface ToolInput {
  readonly info: McpToolInfo;
  /** Arguments that the agent definition sets, by their path. */
  readonly argumentProperties?: Readonly<Record<string, ArgumentProperty>>;
}

/** The tools of one server. */
export interface ServerTools extends Pick<
  ToolRuntime,
  "server" | "caller" | "lookup" | "refreshSchemaBeforeCall"
> {
  readonly tools: readonly ToolInput[];
  readonly rules: RuleSet;
  readonly trustAnnotations: boolean;
  /** Added to the metadata of each tool. */
  readonly metadata: JsonObject;
}

export interface CreateToolsOptions extends Pick<ToolRuntime, "settings" | "agentInput" | "warn"> {
  readonly naming: Naming;
  /** Rules for the tools of all servers. */
  readonly rules: RuleSet;
}

/** Asks from inside the tool, where neither the middleware nor the tool node has replaced a step. */
const INTERCEPTOR: CallInterceptor = { prepare: prepareCall, approve: requestApproval, openInput };

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
  const warnServer = (message: string) => warn(`Server "${source.server}": ${message}`);
  return source.tools.flatMap((tool) => {
    const rule = resolveRule(tool.info, [source.rules, rules], warnServer);
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
    description: describe(info, rule, server),
    metadata: source.metadata,
    runtime: {
      name,
      server,
      schema: new ToolSchema(info, { argumentProperties, rule, settings, trustAnnotations, warn }),
      lookup,
      refreshSchemaBeforeCall,
      rule,
      caller,
      settings,
      agentInput,
      semaphore: rule.maxConcurrent === undefined ? undefined : new Semaphore(rule.maxConcurrent),
      interceptor: INTERCEPTOR,
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
