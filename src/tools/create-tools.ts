import { Semaphore } from "../async/semaphore.js";
import type { ArgumentProperty } from "../config/agent-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeThrown, excerpt } from "../errors/sanitize-text.js";
import { isPromiseLike, type JsonObject } from "../json/json.js";
import { isOfferedToModels, type McpToolInfo } from "../config/server-features.js";
import type { DescriptionOptions, InputValidation } from "../config/tool-rules.js";
import { requestApproval } from "./approval/request-approval.js";
import { openInput } from "./elicitation/interrupt-for-input.js";
import { McpTool } from "./mcp-tool.js";
import { prepareCall } from "./prepare-call.js";
import {
  type AssignedNames,
  assignToolNames,
  createKeyResolver,
  type NamedTool,
  type Naming,
  toToolName,
} from "./tool-names.js";
import {
  type AppliedGuard,
  type ResolvedRule,
  resolveToolRules,
  type UnmatchedRule,
} from "./resolve-tool-rules.js";
import type { LevelRule, RuleSet, RuleTarget } from "./rule-set.js";
import type { CallInterceptor, ToolRuntime } from "./tool-run.js";
import { resolveDescriptions, type ToolDescription, toToolDescription } from "./tool-description.js";
import { isToolAllowed, type ToolFilter } from "./tool-filter.js";
import { ToolSchema } from "./tool-schema.js";
import type { WarningLimit } from "../telemetry/warning-limit.js";

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
  /** For warnings about the listed tools, as opposed to calls. */
  readonly warnings: WarningLimit;
  readonly trustAnnotations: boolean;
  readonly descriptions?: DescriptionOptions | undefined;
  readonly inputValidation?: InputValidation | undefined;
  /** Added to the metadata of each tool. */
  readonly metadata: JsonObject;
}

export interface CreateToolsOptions extends Pick<ToolRuntime, "settings" | "warn" | "onApprovalDecided"> {
  /** `undefined`: each run brings its own. */
  readonly agentInput: JsonObject | undefined;
  readonly naming: Naming;
  /** Decides which runs see which tools. */
  readonly filter: ToolFilter | undefined;
  /** Rules for the tools of all servers. */
  readonly rules: RuleSet;
  /** Logs a detail. */
  readonly debug: (message: string) => void;
  /** Logs an error. */
  readonly error: (message: string) => void;
}

/** The tools that the rules keep. */
export interface CreatedTools {
  readonly tools: readonly McpTool[];
  readonly unmatchedRules: readonly UnmatchedRule[];
  readonly guards: readonly AppliedGuard[];
}

/** Asks from inside the tool, where neither the middleware nor the tool node has replaced a step. */
const INTERCEPTOR: CallInterceptor = { prepare: prepareCall, approve: requestApproval, openInput };

/**
 * Creates a LangChain tool for every tool that the rules keep. Returns a promise only if a rules function does.
 * `serverNames` are those of all servers, including those that have not listed their tools yet.
 */
export function createTools(
  servers: readonly ServerTools[],
  options: CreateToolsOptions,
  serverNames: readonly string[] = [],
): CreatedTools | Promise<CreatedTools> {
  const listed = servers.flatMap((source) => {
    const warn = (message: string) => source.warnings.warn(`Server "${source.server}": ${message}`, options);
    return source.tools
      .filter(({ info }) => isOfferedToModels(info))
      .map((input) => ({ ...input, source, server: source.server, warn }));
  });
  const decisions = listed.map(({ source, info, warn }) => [
    source.rules.decide(info, warn),
    options.rules.decide(info, warn),
  ]);
  const preview = previewNames(listed, options.naming);
  const finish = (decided: readonly (readonly LevelRule[])[]) => {
    const tools = listed.map((tool, index) => {
      const names = [preview.names[index]].filter((name) => name !== undefined);
      return { ...tool, decided: decided[index] ?? [], names };
    });
    return createKeptTools(tools, servers, { ...options, serverNames, preview });
  };
  return decisions.some((levels) => levels.some(isPromiseLike))
    ? Promise.all(decisions.map((levels) => Promise.all(levels.map(async (level) => level)))).then(finish)
    : finish(decisions as LevelRule[][]);
}

interface ListedTool extends RuleTarget, Pick<ToolInput, "argumentProperties"> {
  readonly source: ServerTools;
}

interface SelectOptions extends CreateToolsOptions {
  readonly serverNames: readonly string[];
  /** The names if all tools are kept. */
  readonly preview: PreviewedNames;
}

interface PreviewedNames extends AssignedNames {
  /** Whether these are the names, and not those that the tools would have without collisions. */
  readonly isAssigned: boolean;
}

/**
 * Rules may name a tool as models see it, which depends on the other tools that are kept. So the rules are applied
 * with the names that the tools have if all are kept, and once more if one of them gets another name.
 */
function createKeptTools(
  listed: readonly ListedTool[],
  servers: readonly ServerTools[],
  options: SelectOptions,
): CreatedTools {
  const first = applyRules(listed, servers, options);
  const kept = listed.filter((tool) => first.rules.get(tool) !== false);
  const isUnchanged = options.preview.isAssigned && kept.length === listed.length;
  const assigned = isUnchanged ? options.preview : assignToolNames(kept.map(toNamedTool), options.naming);
  const limits = new Map(servers.map(({ server, warnings }) => [server, warnings]));
  for (const { server, message } of assigned.warnings) limits.get(server)?.warn(message, options);
  const renamed = new Map<ListedTool, ListedTool>();
  kept.forEach((tool, index) => {
    const name = assigned.names[index];
    if (name !== undefined && !tool.names.includes(name))
      renamed.set(tool, { ...tool, names: [...tool.names, name] });
  });
  const second =
    renamed.size === 0
      ? first
      : applyRules(
          listed.map((tool) => renamed.get(tool) ?? tool),
          servers,
          options,
        );
  const tools = kept.flatMap((tool, index) => {
    const name = assigned.names[index];
    const rule = second.rules.get(renamed.get(tool) ?? tool) ?? false;
    return name === undefined || rule === false ? [] : (tryCreateTool(tool, name, rule, options) ?? []);
  });
  return { tools, unmatchedRules: second.unmatched, guards: second.guards };
}

function applyRules(
  listed: readonly ListedTool[],
  servers: readonly ServerTools[],
  { rules, naming, serverNames, error }: SelectOptions,
) {
  const toolsBySource = new Map<ServerTools, ListedTool[]>(servers.map((source) => [source, []]));
  for (const tool of listed) toolsBySource.get(tool.source)?.push(tool);
  const groups = Array.from(toolsBySource, ([{ server, rules: own }, tools]) => ({
    server,
    rules: own,
    tools,
  }));
  const listedServers = new Set(groups.map(({ server }) => server));
  return resolveToolRules(groups, rules, {
    unlistedServers: new Set(serverNames.filter((name) => !listedServers.has(name))),
    toReference: createKeyResolver(serverNames, naming),
    toBaseName: (tool) => tryName(toNamedTool(tool), naming),
    error,
  });
}

function previewNames(
  listed: readonly Pick<ListedTool, "server" | "info">[],
  naming: Naming,
): PreviewedNames {
  const tools = listed.map(toNamedTool);
  try {
    return { ...assignToolNames(tools, naming), isAssigned: true };
  } catch {
    return { names: tools.map((tool) => tryName(tool, naming)), warnings: [], isAssigned: false };
  }
}

/** A failure of `naming.prefix` is reported when the kept tools are named. */
function tryName(tool: NamedTool, naming: Naming): string | undefined {
  try {
    return toToolName(tool, naming);
  } catch {
    return undefined;
  }
}

function toNamedTool({ server, info }: Pick<RuleTarget, "server" | "info">): NamedTool {
  return { server, tool: info.name };
}

/** Call after the tools were created. `isComplete`: all servers have listed their tools. */
export function warnUnmatchedRules(
  { unmatchedRules }: CreatedTools,
  { warn, error, isComplete }: Pick<CreateToolsOptions, "warn" | "error"> & { readonly isComplete: boolean },
): void {
  for (const { server, message, isError } of unmatchedRules)
    if (server !== undefined || isComplete) (isError ? error : warn)(message);
}

/** Excludes a tool that cannot be created: a server or an agent definition must not fail the start with one tool. */
function tryCreateTool(
  tool: ListedTool,
  name: string,
  rule: ResolvedRule,
  options: CreateToolsOptions,
): McpTool | undefined {
  try {
    return createTool(tool, name, rule, options);
  } catch (error) {
    // Mistakes in the definition of an agent.
    if (error instanceof McpRuntimeError && error.kind === "invalid-config") throw error;
    const { info, source } = tool;
    const message = `It is excluded because it could not be created: ${describeThrown(error)}`;
    options.error(describeTool(message, info.name, source));
    return undefined;
  }
}

function createTool(
  { source, info, argumentProperties = {} }: ListedTool,
  name: string,
  resolved: ResolvedRule,
  options: CreateToolsOptions,
): McpTool {
  const { server, metadata, descriptions: ofServer } = source;
  const { descriptions } = options.settings;
  const limits = ofServer === undefined ? descriptions : resolveDescriptions(descriptions, ofServer);
  const description = toToolDescription(info, { server, override: resolved.rule.description, limits });
  const tool = new McpTool({
    name,
    description: description.shown,
    server,
    info,
    metadata,
    rule: resolved.rule,
    approval: resolved.approval,
    wholeDescription: description.text,
    createRuntime: (created) =>
      createRuntime(created, { source, argumentProperties, ...resolved, description }, options),
  });
  // Mistakes in the definition of an agent are reported at once.
  if (Object.keys(argumentProperties).length > 0) warnAboutArguments(tool, source, options);
  return tool;
}

function createRuntime(
  tool: McpTool,
  input: Pick<ListedTool, "source" | "argumentProperties"> &
    ResolvedRule & { readonly description: ToolDescription },
  options: CreateToolsOptions,
): ToolRuntime {
  const { source, argumentProperties = {}, rule, approval, description } = input;
  const { info } = tool.listed;
  const { settings, filter, agentInput, onApprovalDecided } = options;
  const { server, caller, lookup, refreshSchemaBeforeCall, trustAnnotations } = source;
  const warn = (message: string) => warnAboutTool(message, info.name, source, options);
  return {
    name: tool.name,
    server,
    schema: new ToolSchema(info, { argumentProperties, rule, settings, trustAnnotations, description, warn }),
    lookup,
    refreshSchemaBeforeCall,
    rule,
    inputValidation: rule.inputValidation ?? source.inputValidation ?? settings.inputValidation,
    approval,
    caller,
    settings,
    isAllowed: filter && ((config) => isToolAllowed(tool, filter, config)),
    agentInput: agentInput ?? {},
    semaphore: rule.maxConcurrent === undefined ? undefined : new Semaphore(rule.maxConcurrent),
    interceptor: INTERCEPTOR,
    onApprovalDecided,
    warn: (message) => options.warn(describeTool(message, info.name, source)),
  };
}

function warnAboutArguments(tool: McpTool, source: ServerTools, options: CreateToolsOptions): void {
  const { info } = tool.listed;
  const { injector } = tool.runtime.schema;
  const missing = options.agentInput === undefined ? [] : injector.describeMissing(options.agentInput);
  for (const message of [
    ...injector.describeUnknown(info.inputSchema),
    ...missing.map((text) => `The argument ${text}.`),
  ])
    warnAboutTool(message, info.name, source, options);
}

/** For warnings about a tool as listed: their number is limited. */
function warnAboutTool(
  message: string,
  tool: string,
  source: ServerTools,
  options: Pick<CreateToolsOptions, "warn" | "debug">,
): void {
  source.warnings.warn(describeTool(message, tool, source), options);
}

function describeTool(message: string, tool: string, { server }: ServerTools): string {
  return `Server "${server}", tool "${excerpt(tool)}": ${message}`;
}
