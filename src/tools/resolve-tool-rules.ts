import { CancelScope } from "../async/cancel-scope.js";
import { systemClock, withDeadline } from "../async/clock.js";
import type { McpToolInfo } from "../config/server-features.js";
import { parseOptions } from "../config/parse-options.js";
import {
  type ApprovalCondition,
  TOOL_RULE_SCHEMA,
  TOOL_RULES_SCHEMA,
  type ToolRule,
  type ToolRules,
} from "../config/tool-rules.js";
import { editDistance } from "../errors/find-closest-match.js";
import { describeThrown, joinNames, stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { findLargest, isPromiseLike } from "../json/json.js";

/** A listed tool, to which rules apply. */
export interface RuleTarget {
  readonly server: string;
  readonly info: McpToolInfo;
  /** The names that models see: one, or several while the final one is not known. */
  readonly names: readonly string[];
  /** What the rules functions decided about it: that of its server, and that for all servers. */
  readonly decided: readonly LevelRule[];
}

/** What one level of rules (those of a server, or those for all servers) sets for a tool. */
export interface LevelRule {
  readonly isExcluded: boolean;
  readonly rule: ToolRule;
}

/** The rule of a tool from all levels. */
export interface ResolvedRule {
  /** Without a guard, the nearest level wins, field by field. */
  readonly rule: ToolRule;
  /** A call needs approval if one of these requires it. */
  readonly approval: readonly ApprovalCondition[];
}

/** A rule that matches no tool. */
export interface UnmatchedRule {
  /** `undefined` for a rule for all servers. */
  readonly server: string | undefined;
  readonly key: string;
  /** The names that may be meant, and those of all tools that it could match, for the end of a message. */
  readonly suggestion: string;
  /** Whether a tool has the name of the rule, but gets only its guard: its `args` are not injected. */
  readonly losesArgs: boolean;
}

interface ServerRules {
  readonly server: string;
  readonly rules: RuleSet;
  readonly tools: readonly RuleTarget[];
}

/** What is known about the names that models see, also of tools that are not listed yet. */
interface ShownNames {
  /**
   * Returns the servers whose tools models see under names like this key, each with what is added to the names of its
   * tools. Servers that have not listed their tools yet are among them.
   */
  readonly findAffixes: (key: string) => readonly (readonly [server: string, affix: string])[];
  /**
   * Whether a rule is only about tools that models see under a name that its key matches: it may be meant for a server that
   * has yet to be added.
   */
  readonly needsShownName: (key: string, rule: ToolRule) => boolean;
}

interface ResolveOptions extends ShownNames {
  /** Returns the name of a tool if it collides with no other; `undefined` if it cannot be determined. */
  readonly toBaseName: (tool: RuleTarget) => string | undefined;
  readonly error: (message: string) => void;
}

const NO_RULE: LevelRule = { isExcluded: false, rule: {} };
const EXCLUDED: LevelRule = { isExcluded: true, rule: {} };
/** The rule of a tool for which no level sets anything; shared, because that is the case for most tools. */
const NO_RESOLVED_RULE: ResolvedRule = Object.freeze({ rule: Object.freeze({}), approval: [] });

/**
 * Returns the rule of each tool, or `false` when it is excluded. Within one level the most specific entry decides;
 * between levels, the strictest guard counts: a tool has to be kept by both, and approval is required if either
 * requires it. Every other field and each injected argument comes from the server's level if that sets it.
 */
export function resolveToolRules(
  servers: readonly ServerRules[],
  rulesForAll: RuleSet,
  { toBaseName, error, ...shownNames }: ResolveOptions,
): { readonly rules: ReadonlyMap<RuleTarget, ResolvedRule | false>; readonly unmatched: UnmatchedRule[] } {
  const allTools = servers.flatMap(({ tools }) => tools);
  const forAll = rulesForAll.match(allTools, shownNames);
  const rules = new Map<RuleTarget, ResolvedRule | false>();
  const levels = servers.map(({ server, rules: serverRules, tools }) => {
    const own = serverRules.match(tools);
    for (const tool of tools) {
      const [ofServer = NO_RULE, ofAll = NO_RULE] = tool.decided;
      const ownRule = own.rules.get(tool) ?? ofServer;
      const ruleForAll = forAll.rules.get(tool) ?? ofAll;
      const isUnset = ownRule === NO_RULE && ruleForAll === NO_RULE;
      rules.set(tool, isUnset ? NO_RESOLVED_RULE : combineLevels([ownRule, ruleForAll]));
    }
    return { server, tools, unmatched: own.unmatched };
  });
  const unmatched: UnmatchedRule[] = [];
  for (const level of [...levels, { server: undefined, tools: allTools, unmatched: forAll.unmatched }]) {
    for (const { entry, isReduced } of level.unmatched) {
      const [key, rule] = entry;
      const close = findCloseTools(key, level.tools, toBaseName);
      if (close.length === 0 || isReduced || !isGuard(rule)) {
        const suggestion = suggestNames(close, level);
        const losesArgs = isReduced && rule !== false && rule.args !== undefined;
        unmatched.push({ server: level.server, key, suggestion, losesArgs });
        continue;
      }
      for (const tool of close) {
        // A misspelled guard would otherwise have no effect.
        if (rules.get(tool) === false) continue;
        rules.set(tool, false);
        error(describeCloseTool(key, tool, level.server));
      }
    }
  }
  return { rules, unmatched };
}

/** `levels` start with the nearest. */
function combineLevels(levels: readonly LevelRule[]): ResolvedRule | false {
  if (levels.some(({ isExcluded }) => isExcluded)) return false;
  const rule = merge(levels.map((level) => level.rule));
  const conditions = levels.flatMap(({ rule: { requireApproval } }) => requireApproval ?? []);
  if (conditions.length === 0) return { rule, approval: [] };
  const required = conditions.filter((condition) => condition !== false);
  const approval = required.includes(true) ? [true] : [...new Set(required)];
  const [requireApproval = false, ...others] = approval;
  return { rule: { ...rule, requireApproval: others.length > 0 || requireApproval }, approval };
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

type Entry = readonly [key: string, rule: ToolRule | false];

/** An entry that is about no tool. */
interface UnmatchedEntry {
  readonly entry: Entry;
  /** Whether it matches tools that it is not about: they get only its guard. */
  readonly isReduced: boolean;
}

/** How long a rules function may take to decide about a tool. */
const RULE_TIMEOUT_MS = 10_000;

/** The validated rules of one level. */
export class RuleSet {
  readonly #decide: ((tool: McpToolInfo) => unknown) | undefined;
  /** The most specific first. */
  readonly #entries: readonly Entry[];

  constructor(rules: ToolRules = {}) {
    const parsed = parseOptions(TOOL_RULES_SCHEMA, rules, { subject: "The set of tool rules" });
    this.#decide = typeof parsed === "function" ? parsed : undefined;
    this.#entries = typeof parsed === "function" ? [] : toEntries(parsed);
  }

  /**
   * Calls a rules function. Returns a promise only if the function does, and never throws: a tool is excluded if its
   * rule is unknown.
   */
  decide(tool: McpToolInfo, warn: (message: string) => void): LevelRule | Promise<LevelRule> {
    if (this.#decide === undefined) return NO_RULE;
    const exclude = (error: unknown) => {
      const reason = describeThrown(error);
      warn(`Tool ${quote(tool.name)} is excluded because its rule failed: ${reason}`);
      return EXCLUDED;
    };
    try {
      // A copy, so that the function cannot mutate the tool.
      const result = this.#decide(structuredClone({ ...tool }));
      return isPromiseLike(result)
        ? settleRule(result).then(toLevelRule).catch(exclude)
        : toLevelRule(result);
    } catch (error) {
      return exclude(error);
    }
  }

  /** Returns what the entries set for each of these tools, and the entries that apply to none. */
  match(
    tools: readonly RuleTarget[],
    shownNames: ShownNames = SERVER_NAMES_ONLY,
  ): { readonly rules: ReadonlyMap<RuleTarget, LevelRule>; readonly unmatched: readonly UnmatchedEntry[] } {
    const found = new Map<RuleTarget, Match[]>();
    const unmatched: UnmatchedEntry[] = [];
    for (const entry of this.#entries) {
      const [key, rule] = entry;
      const matches = findMatches(entry, tools, shownNames);
      for (const { tool, isAbout: isAboutTool } of matches) {
        const list = found.get(tool) ?? [];
        const applied = isAboutTool ? rule : toGuard(rule);
        if (applied !== undefined) list.push({ rule: applied, isAboutTool });
        found.set(tool, list);
      }
      const isReduced = matches.length > 0;
      const isUnmatched = !matches.some(({ isAbout }) => isAbout) && (!isReduced || losesFields(rule));
      if (isUnmatched && key !== "*") unmatched.push({ entry, isReduced });
    }
    return { rules: new Map([...found].map(([tool, list]) => [tool, resolveMatches(list)])), unmatched };
  }
}

/** For the rules of one server: no other server can take a name. */
const SERVER_NAMES_ONLY: ShownNames = { findAffixes: () => [], needsShownName: () => false };

/** An entry that matches a tool. */
interface Match {
  readonly rule: ToolRule | false;
  /** Whether the entry is about this tool; otherwise it is reduced to its guard. */
  readonly isAboutTool: boolean;
}

/** `found` starts with the most specific. A guard alone does not keep a tool that another entry excludes. */
function resolveMatches(found: readonly Match[]): LevelRule {
  const deciding = found.find(({ rule, isAboutTool }) => isAboutTool || rule === false);
  if (deciding?.rule === false) return EXCLUDED;
  return { isExcluded: false, rule: merge(found.flatMap(({ rule }) => (rule === false ? [] : rule))) };
}

/**
 * Returns the tools that a key matches, by their names on the server or by the names that models see. Any server can list
 * a tool under a name that models see for the tool of another: such a tool is matched, but not what the key is about. The
 * other server may not be there yet, or no longer.
 */
function findMatches(
  [key, rule]: Entry,
  tools: readonly RuleTarget[],
  { findAffixes, needsShownName }: ShownNames,
): readonly { readonly tool: RuleTarget; readonly isAbout: boolean }[] {
  const isPattern = key.includes("*");
  const byOwnName = new Set(tools.filter(({ info }) => matchesName(key, info.name)));
  const byShownName = new Set(tools.filter(({ names }) => names.some((name) => matchesName(key, name))));
  // Usually one.
  const affixes = byOwnName.size + byShownName.size === 0 ? [] : findAffixes(key);
  const longest = findLargest(affixes.map(([, affix]) => affix.length));
  const owners = affixes.flatMap(([server, affix]) => (affix.length === longest ? server : []));
  const isAboutShown = rule !== false && needsShownName(key, rule);
  const isAbout = (tool: RuleTarget) => {
    if (owners.length > 0 && !owners.includes(tool.server)) return false;
    const [isOwn, isShown] = [byOwnName.has(tool), byShownName.has(tool)];
    if (isOwn && isShown) return true;
    if (isOwn && isAboutShown) return false;
    if (isShown) return !isPattern || ![...byOwnName].some(({ server }) => server === tool.server);
    // Whether the key is about another tool, which it matches by the shown name, rather than about this one.
    const isOther = (other: RuleTarget) => other.server !== tool.server && !byOwnName.has(other);
    return ![...byShownName].some((other) => !isPattern || isOther(other));
  };
  return [...new Set([...byOwnName, ...byShownName])].map((tool) => ({ tool, isAbout: isAbout(tool) }));
}

/** Reduces a rule to what it denies; `undefined` if it denies nothing. */
function toGuard(rule: ToolRule | false): ToolRule | false | undefined {
  if (rule === false || !isGuard(rule)) return rule === false ? false : undefined;
  return { requireApproval: rule.requireApproval ?? true };
}

/** Whether a tool that gets only the guard of this rule lacks something: its arguments, or the rule has no guard. */
function losesFields(rule: ToolRule | false): boolean {
  return rule !== false && (rule.args !== undefined || !isGuard(rule));
}

function isGuard(rule: ToolRule | false): boolean {
  return rule === false || (rule.requireApproval ?? false) !== false;
}

function toEntries(rules: Exclude<ToolRules, (tool: McpToolInfo) => unknown>): Entry[] {
  const entries: Entry[] = Array.isArray(rules)
    ? [...rules.map((name: string): Entry => [name, {}]), ["*", false]]
    : Object.entries(rules as Readonly<Record<string, ToolRule | boolean>>).map(([key, rule]): Entry => [
        key,
        rule === true ? {} : rule,
      ]);
  return entries.toSorted(([a], [b]) => specificity(b) - specificity(a) || (a < b ? -1 : 1));
}

/** @throws McpRuntimeError `invalid-config` for anything but a rule, a boolean or nothing */
function toLevelRule(result: unknown): LevelRule {
  if (result === undefined) return NO_RULE;
  const rule = parseOptions(TOOL_RULE_SCHEMA, result, { subject: "The rule" });
  if (typeof rule === "boolean") return rule ? NO_RULE : EXCLUDED;
  return { isExcluded: false, rule };
}

function settleRule(result: PromiseLike<unknown>): Promise<unknown> {
  const createError = () => new Error(`the rules function did not return within ${RULE_TIMEOUT_MS} ms`);
  const limit = { ms: RULE_TIMEOUT_MS, clock: systemClock, cancellation: new CancelScope(), createError };
  return withDeadline(limit, (scope) => scope.race(Promise.resolve(result)));
}

/** A name is more specific than any pattern; of two patterns, the one with more literal characters. */
function specificity(key: string): number {
  return key.includes("*") ? key.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
}

/** `*` matches any characters. No RegExp, because the server chooses the name and its length (ReDoS). */
export function matchesName(pattern: string, name: string): boolean {
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

/** Longer names are compared only without case and separators: the server chooses their number and length. */
const MAX_COMPARED_LENGTH = 100;

/** Returns the tools whose name is closest to a key that matches none; none if no name is close enough. */
function findCloseTools(
  key: string,
  tools: readonly RuleTarget[],
  toBaseName: ResolveOptions["toBaseName"],
): RuleTarget[] {
  const limit = maxDistance(key);
  const distanceTo = createDistance(key, limit);
  const distances = tools.map((tool) => {
    const { server, info, names } = tool;
    // A server can change the name of its tool by listing another one of the same name.
    const earlierNames = [
      toBaseName(tool) ?? info.name,
      `${server}__${info.name}`,
      `mcp__${server}__${info.name}`,
    ];
    const candidates = new Set([info.name, ...names, ...earlierNames]);
    return Math.min(...[...candidates].map(distanceTo));
  });
  const smallest = distances.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return tools.filter((_, index) => distances[index] === smallest && smallest <= limit);
}

/** The edit distance that counts as a misspelling. A short pattern would be close to everything. */
function maxDistance(key: string): number {
  const { length } = key.replaceAll("*", "");
  if (!key.includes("*")) return length <= 4 ? 1 : 2;
  return length <= 4 ? 0 : length <= 8 ? 1 : 2;
}

/** Returns the distance of a name to a key: 0 if they differ only in case and separators, infinite above the limit. */
function createDistance(key: string, limit: number): (name: string) => number {
  const lowerKey = key.toLowerCase();
  const normalizedKey = normalize(key);
  const isComparable = normalizedKey.replaceAll("*", "") !== "";
  return (name) => {
    if (isComparable && matchesName(normalizedKey, normalize(name))) return 0;
    if (limit === 0 || name.length > MAX_COMPARED_LENGTH) return Number.POSITIVE_INFINITY;
    return editDistance(lowerKey, name.toLowerCase(), limit);
  };
}

function normalize(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}*]/gu, "");
}

function describeCloseTool(
  key: string,
  { server, info, names }: RuleTarget,
  level: string | undefined,
): string {
  const where = level === undefined ? "The rule" : `Server "${level}": the rule`;
  const shown = names.map((name) => ` (${quote(name)})`).join("");
  const tool = `${quote(info.name)} of server "${server}"${shown}`;
  return `${where} for ${quote(key)} matches no tool, but is close to ${tool}, which is excluded. Correct the name in the rule.`;
}

const MAX_NAMES = 20;

function suggestNames(
  close: readonly RuleTarget[],
  { server, tools }: { readonly server: string | undefined; readonly tools: readonly RuleTarget[] },
): string {
  const nameOf = ({ info, names: [name] }: RuleTarget) =>
    quote(server === undefined ? (name ?? info.name) : info.name);
  const names = close.slice(0, MAX_NAMES).map(nameOf);
  const meant = names.length === 0 ? "" : ` Did you mean ${names.join(" or ")}?`;
  return tools.length === 0 ? meant : `${meant} Tools: ${joinNames(tools.map(nameOf), MAX_NAMES)}.`;
}

const MAX_QUOTED_LENGTH = 100;

/** The name of a tool comes from its server. */
function quote(name: string): string {
  return JSON.stringify(truncate(stripHiddenCharacters(name), MAX_QUOTED_LENGTH));
}
