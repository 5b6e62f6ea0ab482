import { Semaphore } from "../async/semaphore.js";
import type { ArgumentProperty } from "../config/argument-property.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ToolRule } from "../config/tool-rules.js";
import { toDescription, toReadable } from "../errors/sanitize-text.js";
import { McpTool } from "./mcp-tool.js";
import { nameTools, type Naming } from "./tool-names.js";
import type { ToolSettings } from "./tool-options.js";
import { type RuleSet, ToolPolicy } from "./tool-policy.js";
import type { ToolCaller, ToolView } from "./tool-runtime.js";
import { ToolSchema } from "./tool-schema.js";

/** A tool to be made, and what an agent fills in for it. */
interface OfferedTool {
  readonly info: McpToolInfo;
  readonly argumentProperties?: Readonly<Record<string, ArgumentProperty>>;
}

/** The tools of one server. */
export interface ToolOffer {
  readonly server: string;
  readonly caller: ToolCaller;
  readonly view: ToolView;
  /** Its tools were saved some time ago: compare them with the server before a call. */
  readonly refreshesSchema: boolean;
  readonly tools: readonly OfferedTool[];
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

/** LangChain tools for what servers offer, as the rules leave it. */
export function createTools(offers: readonly ToolOffer[], options: CreateToolsOptions): McpTool[] {
  const chosen = offers.flatMap((offer) => choose(offer, options));
  const named = chosen.map(({ offer, tool }) => ({ server: offer.server, tool: tool.info.name }));
  const names = nameTools(named, options.naming);
  return chosen.map((choice, index) => createTool(choice, names[index] ?? "", options));
}

interface Choice {
  readonly offer: ToolOffer;
  readonly tool: OfferedTool;
  readonly rule: ToolRule;
}

function choose(offer: ToolOffer, { rules, warn }: CreateToolsOptions): Choice[] {
  const policy = new ToolPolicy([offer.rules, rules], (message) =>
    warn(`Server "${offer.server}": ${message}`),
  );
  return offer.tools.flatMap((tool) => {
    const rule = policy.ruleFor(tool.info);
    return rule === false ? [] : [{ offer, tool, rule }];
  });
}

/** Tells of entries that no tool has met, after tools were made; of those for all servers, when `rules` is given. */
export function warnOfUnmetRules(
  offers: readonly ToolOffer[],
  { rules, warn }: Pick<CreateToolsOptions, "warn"> & { readonly rules: RuleSet | undefined },
): void {
  for (const { server, rules: own } of offers) {
    for (const entry of own.unmetEntries())
      warn(`Server "${server}": the rule for "${entry}" matches none of its tools.`);
  }
  for (const entry of rules?.unmetEntries() ?? [])
    warn(`The rule for "${entry}" matches no tool of any server.`);
}

function createTool({ offer, tool, rule }: Choice, name: string, options: CreateToolsOptions): McpTool {
  const { info, argumentProperties = {} } = tool;
  const { settings, agentInput } = options;
  const { server, caller, view, refreshesSchema, trustAnnotations } = offer;
  const warn = (message: string) => options.warn(`Server "${server}", tool "${info.name}": ${message}`);
  return new McpTool({
    name,
    description: describe(info, rule, server),
    metadata: offer.metadata,
    parts: {
      server,
      schema: new ToolSchema(info, { argumentProperties, rule, settings, warn }),
      view,
      refreshesSchema,
      rule,
      caller,
      settings,
      agentInput,
      trustAnnotations,
      slots: rule.maxConcurrent === undefined ? undefined : new Semaphore(rule.maxConcurrent),
      warn,
    },
  });
}

function describe({ name, title, description }: McpToolInfo, rule: ToolRule, server: string): string {
  const text = toDescription(rule.description ?? description ?? title ?? "");
  return text === "" ? toDescription(`Tool "${toReadable(name)}" of server "${server}".`) : text;
}
