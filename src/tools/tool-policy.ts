import type { McpToolInfo } from "../config/list-items.js";
import { parseOptions } from "../config/parse-options.js";
import { TOOL_RULE_SCHEMA, TOOL_RULES_SCHEMA, type ToolRule, type ToolRules } from "../config/tool-rules.js";
import type { JsonObject } from "../json/json.js";
import { isGraphBubbleUp } from "./tool-failure.js";
import type { ToolRuntime } from "./tool-run.js";

type Entry = readonly [pattern: string, rule: ToolRule | false];

/**
 * Returns the rule for a tool, or `false` when it is excluded, also when its rule throws. `ruleSets` are in order of
 * precedence: the server's own, then those for all servers. In each set the most specific entry decides whether a
 * tool is kept, and a tool has to be kept by both: a server's rule cannot allow what the rules for all servers
 * exclude. Each field and each injected argument comes from the most specific entry that sets it.
 */
export function resolveRule(
  tool: McpToolInfo,
  ruleSets: readonly RuleSet[],
  warn: (message: string) => void,
): ToolRule | false {
  try {
    const matching = ruleSets.map((ruleSet) => ruleSet.rulesFor(tool));
    if (matching.some(([mostSpecific]) => mostSpecific === false)) return false;
    const rules = matching.flat().filter((rule) => rule !== false);
    return rules.length === 0 ? {} : merge(rules);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    warn(`Tool "${tool.name}" is excluded because its rule failed: ${reason}`);
    return false;
  }
}

/** Merges field by field; `rules` start with the most specific. A field that is `undefined` counts as not set. */
function merge(rules: readonly ToolRule[]): ToolRule {
  const fields = rules
    .toReversed()
    .map((rule) => Object.entries(rule).filter(([, value]) => value !== undefined));
  const args: Required<ToolRule>["args"] = Object.assign(
    {},
    ...rules.toReversed().map((rule) => rule.args ?? {}),
  );
  const rule: ToolRule = Object.fromEntries(fields.flat());
  return Object.keys(args).length === 0 ? rule : { ...rule, args };
}

/** Validated rules, which record the patterns that have not matched a tool yet. */
export class RuleSet {
  readonly #ruleFunction: ((tool: McpToolInfo) => ToolRule | boolean | undefined) | undefined;
  readonly #entries: readonly Entry[];
  readonly #unmatched: Set<string>;

  constructor(rules: ToolRules = {}) {
    parseOptions(TOOL_RULES_SCHEMA, rules, { subject: "The set of tool rules" });
    this.#ruleFunction = typeof rules === "function" ? rules : undefined;
    this.#entries = typeof rules === "function" ? [] : toEntries(rules);
    this.#unmatched = new Set(this.#entries.map(([pattern]) => pattern).filter((pattern) => pattern !== "*"));
  }

  /** Returns all matching rules, the most specific first. */
  rulesFor(tool: McpToolInfo): (ToolRule | false)[] {
    if (this.#ruleFunction !== undefined) {
      // A copy, so that the function cannot mutate the tool.
      const rule = this.#ruleFunction(structuredClone({ ...tool }));
      if (rule === undefined) return [];
      parseOptions(TOOL_RULE_SCHEMA, rule, { subject: "The rule" });
      return [toRule(rule)];
    }
    return this.#entries
      .filter(([pattern]) => matches(pattern, tool.name))
      .map(([pattern, rule]) => {
        this.#unmatched.delete(pattern);
        return rule;
      });
  }

  /** Returns the names and patterns that have not matched a tool. */
  unmatchedPatterns(): string[] {
    return [...this.#unmatched];
  }
}

function toEntries(rules: Exclude<ToolRules, (tool: McpToolInfo) => unknown>): Entry[] {
  const entries: Entry[] = Array.isArray(rules)
    ? [...rules.map((name: string): Entry => [name, {}]), ["*", false]]
    : Object.entries(rules as Readonly<Record<string, ToolRule | boolean>>).map(([pattern, rule]): Entry => [
        pattern,
        toRule(rule),
      ]);
  return entries.toSorted(([a], [b]) => specificity(b) - specificity(a) || (a < b ? -1 : 1));
}

/** `true` keeps a tool without further options. */
function toRule(rule: ToolRule | boolean): ToolRule | false {
  return rule === true ? {} : rule;
}

/** A name is more specific than any pattern; of two patterns, the one with more literal characters. */
function specificity(pattern: string): number {
  return pattern.includes("*") ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
}

/** `*` matches any characters. No RegExp, because the server chooses the name and its length (ReDoS). */
function matches(pattern: string, name: string): boolean {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return pattern === name;
  if (!name.startsWith(head) || name.length < head.length + tail.length || !name.endsWith(tail)) return false;
  let from = head.length;
  const end = name.length - tail.length;
  for (const literal of rest) {
    const index = name.indexOf(literal, from);
    if (index === -1 || index + literal.length > end) return false;
    from = index + literal.length;
  }
  return true;
}

/** Whether the rule requires approval for some arguments. */
export function mayNeedApproval({ rule: { requireApproval = false } }: ToolRuntime): boolean {
  return requireApproval !== false;
}

/** Fails closed: a rule function that throws or returns anything but `false` requires approval. */
export function needsApproval({ rule, schema }: ToolRuntime, args: JsonObject): boolean {
  const { requireApproval = false } = rule;
  if (requireApproval === "unless-read-only") return !schema.isReadOnly;
  if (typeof requireApproval === "boolean") return requireApproval;
  try {
    const isRequired: unknown = requireApproval(structuredClone(args));
    return isRequired !== false;
  } catch (error) {
    if (isGraphBubbleUp(error)) throw error;
    return true;
  }
}
