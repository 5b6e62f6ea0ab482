import { configError } from "../errors/config-error.js";
import { formatPath } from "../json/describe-value.js";
import type { McpToolInfo } from "../config/tool-info.js";
import {
  issuesOfRule,
  issuesOfRules,
  type RuleIssue,
  type ToolRule,
  type ToolRules,
} from "../config/tool-rules.js";

type Entry = readonly [pattern: string, rule: ToolRule | false];

/**
 * The rules of one server, and those for all servers behind them. In each of the two the most
 * specific entry decides whether a tool is there, and a tool has to be there in both: no rule of a
 * server lets in what the rules for all keep out. For each field, and each hidden argument, the most
 * specific entry that has it counts.
 */
export class ToolPolicy {
  readonly #levels: readonly RuleSet[];
  readonly #warn: (message: string) => void;

  /** The nearest rules first: the server's own, then those for all. */
  constructor(levels: readonly RuleSet[], warn: (message: string) => void) {
    this.#levels = levels;
    this.#warn = warn;
  }

  /** The rule for a tool; `false` when it is left out. */
  ruleFor(tool: McpToolInfo): ToolRule | false {
    try {
      const matching = this.#levels.map((level) => level.rulesFor(tool));
      if (matching.some(([best]) => best === false)) return false;
      const rules = matching.flat().filter((rule) => rule !== false);
      return rules.length === 0 ? {} : merge(rules);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      this.#warn(`Tool "${tool.name}" is left out: its rule failed: ${said}`);
      return false;
    }
  }
}

/** Field by field, the most specific first. An entry that says `undefined` says nothing. */
function merge(rules: readonly ToolRule[]): ToolRule {
  const said = rules
    .toReversed()
    .map((rule) => Object.entries(rule).filter(([, value]) => value !== undefined));
  const args: Required<ToolRule>["args"] = Object.assign(
    {},
    ...rules.toReversed().map((rule) => rule.args ?? {}),
  );
  const rule: ToolRule = Object.fromEntries(said.flat());
  return Object.keys(args).length === 0 ? rule : { ...rule, args };
}

/** Rules as somebody wrote them, checked, and which of them have met a tool so far. */
export class RuleSet {
  readonly #decide: ((tool: McpToolInfo) => ToolRule | false | undefined) | undefined;
  readonly #entries: readonly Entry[];
  readonly #unmet: Set<string>;

  constructor(rules: ToolRules = {}) {
    throwIfAny("The set of tool rules", issuesOfRules(rules));
    this.#decide = typeof rules === "function" ? rules : undefined;
    this.#entries = typeof rules === "function" ? [] : toEntries(rules);
    this.#unmet = new Set(this.#entries.map(([pattern]) => pattern).filter((pattern) => pattern !== "*"));
  }

  /** All that match, the most specific first. */
  rulesFor(tool: McpToolInfo): (ToolRule | false)[] {
    if (this.#decide !== undefined) {
      // A copy: what a function does to it changes no tool.
      const rule = this.#decide(structuredClone({ ...tool }));
      if (rule === undefined) return [];
      throwIfAny("It", issuesOfRule(rule));
      return [rule];
    }
    return this.#entries
      .filter(([pattern]) => matches(pattern, tool.name))
      .map(([pattern, rule]) => {
        this.#unmet.delete(pattern);
        return rule;
      });
  }

  /** Names and patterns that no tool has met. */
  unmetEntries(): string[] {
    return [...this.#unmet];
  }
}

function toEntries(rules: Exclude<ToolRules, (tool: McpToolInfo) => unknown>): Entry[] {
  const entries: Entry[] = Array.isArray(rules)
    ? [...rules.map((name: string): Entry => [name, {}]), ["*", false]]
    : Object.entries(rules as Readonly<Record<string, ToolRule | false>>);
  return entries.toSorted(([a], [b]) => specificity(b) - specificity(a) || (a < b ? -1 : 1));
}

/** A name is more specific than any pattern; of two patterns, the one that says more. */
function specificity(pattern: string): number {
  return pattern.includes("*") ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
}

/** `*` stands for any characters. Matched by hand: a tool's name is the server's, and so is its length. */
function matches(pattern: string, name: string): boolean {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return pattern === name;
  if (!name.startsWith(head) || name.length < head.length + tail.length || !name.endsWith(tail)) return false;
  let from = head.length;
  const end = name.length - tail.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

function throwIfAny(subject: string, issues: readonly RuleIssue[]): void {
  if (issues.length === 0) return;
  throw configError(
    subject,
    issues.map(({ at, message }) => ({ path: formatPath(at), message })),
  );
}
