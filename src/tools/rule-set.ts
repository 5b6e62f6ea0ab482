import { CancelScope } from "../async/cancel-scope.js";
import { systemClock, withDeadline } from "../async/clock.js";
import { parseOptions } from "../config/parse-options.js";
import type { McpToolInfo } from "../config/server-features.js";
import {
  type ApprovalCondition,
  TOOL_RULE_SCHEMA,
  TOOL_RULES_SCHEMA,
  type ToolRule,
  type ToolRules,
} from "../config/tool-rules.js";
import { describeThrown, stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { isPromiseLike } from "../json/json.js";
import { ANY_TOOL, type KeyReference, TOOLSET_SERVER } from "./tool-names.js";

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
  /** Of several, the strictest counts. */
  readonly approval: readonly ApprovalCondition[];
}

export const NO_RULE: LevelRule = { isExcluded: false, rule: {}, approval: [] };
const EXCLUDED: LevelRule = { isExcluded: true, rule: {}, approval: [] };

/** An entry of a set of rules, with the tools that its key matches. */
export interface MatchedEntry {
  readonly key: string;
  readonly rule: ToolRule | false;
  readonly reference: KeyReference;
  readonly matches: readonly Match[];
  /** The servers whose tools can be meant, if the guard was misspelled. */
  readonly possibleServers: ReadonlySet<string> | undefined;
}

/** What is known about a guard after it was applied. */
export interface GuardState {
  readonly key: string;
  /** Whether it refers to a tool. If not, it excludes those with a similar name. */
  readonly refersToTool: boolean;
  /** The servers that have not listed their tools yet. */
  readonly unlistedServers: ReadonlySet<string>;
}

export interface Match {
  readonly tool: RuleTarget;
  /** Whether the key matches the name that models see. */
  readonly isShown: boolean;
  /** If not, the key refers to another tool, whose server may not be connected: only the guards of the rule apply here. */
  readonly isReferredTo: boolean;
}

/** What a set of rules sets for each tool, and its entries. */
export interface MatchedRules {
  readonly rules: ReadonlyMap<RuleTarget, LevelRule>;
  readonly entries: readonly MatchedEntry[];
}

type Entry = readonly [key: string, rule: ToolRule | false];

/** How long a rules function may take to decide about a tool. */
const RULE_TIMEOUT_MS = 10_000;

/** The rules of one level: those of a server, or those for all servers. */
export class RuleSet {
  readonly #decide: ((tool: McpToolInfo) => unknown) | undefined;
  readonly #entries: readonly Entry[];
  /** The guards that have referred to a tool. */
  readonly #referring = new Set<string>();
  /** The other guards that have excluded tools with a similar name, with the servers whose tools can still be meant. */
  readonly #misspelled = new Map<string, ReadonlySet<string>>();

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
      warn(`Tool ${quoteName(tool.name)} is excluded because its rule failed: ${reason}`);
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

  /** Returns what the entries set for each of these tools. */
  match(
    tools: readonly RuleTarget[],
    toReference: (key: string) => KeyReference = () => ANY_TOOL,
  ): MatchedRules {
    const found = new Map<RuleTarget, AppliedEntry[]>();
    const entries = this.#entries.map(([key, rule]): MatchedEntry => {
      const reference = toReference(key);
      const matches = findMatches(key, tools, reference);
      for (const { tool, isShown, isReferredTo } of matches) {
        const applied = found.get(tool) ?? [];
        applied.push({ rule, isReferredTo, specificity: specificity(key, isShown) });
        found.set(tool, applied);
      }
      return { key, rule, reference, matches, possibleServers: this.#misspelled.get(key) };
    });
    return { rules: new Map([...found].map(([tool, list]) => [tool, resolveEntries(list)])), entries };
  }

  /**
   * Keeps what a misspelled guard excludes: no server can change that by listing a tool with the name of the guard, except
   * with its first list.
   */
  remember({ key, refersToTool, unlistedServers }: GuardState): void {
    if (refersToTool) this.#referring.add(key);
    if (this.#referring.has(key)) return void this.#misspelled.delete(key);
    const earlier = this.#misspelled.get(key) ?? unlistedServers;
    this.#misspelled.set(key, new Set([...earlier].filter((server) => unlistedServers.has(server))));
  }
}

/** An entry that matches a tool. */
interface AppliedEntry extends Pick<Match, "isReferredTo"> {
  readonly rule: ToolRule | false;
  readonly specificity: number;
}

/** The most specific entry decides; of equally specific ones, the strictest. */
function resolveEntries(found: readonly AppliedEntry[]): LevelRule {
  const entries = found.toSorted((a, b) => b.specificity - a.specificity);
  // A guard alone does not keep a tool that another entry excludes.
  const deciding = entries.find(({ rule, isReferredTo }) => isReferredTo || rule === false);
  if (entries.some(({ rule, specificity: value }) => rule === false && value === deciding?.specificity))
    return EXCLUDED;
  const kept = entries.flatMap(({ rule, ...entry }) => (rule === false ? [] : { ...entry, rule }));
  const referring = kept.filter(({ isReferredTo }) => isReferredTo);
  const approving = referring.find(({ rule }) => rule.requireApproval !== undefined);
  const approval = kept
    .filter(({ rule, isReferredTo }) => isReferredTo || isGuard(rule))
    .filter((entry) => entry.specificity >= (approving?.specificity ?? 0))
    .flatMap(({ rule }) => rule.requireApproval ?? []);
  return { isExcluded: false, rule: mergeRules(referring.map(({ rule }) => rule)), approval };
}

/** Merges field by field; `rules` start with the most specific. A field that is `undefined` counts as not set. */
export function mergeRules(rules: readonly ToolRule[]): ToolRule {
  const fields = rules
    .toReversed()
    .map((rule) => Object.entries(rule).filter(([, value]) => value !== undefined));
  const args: Required<ToolRule>["args"] = Object.fromEntries(
    rules.toReversed().flatMap((rule) => Object.entries(rule.args ?? {})),
  );
  const rule: ToolRule = Object.fromEntries(fields.flat());
  return Object.keys(args).length === 0 ? rule : { ...rule, args };
}

/** Returns the tools that a key matches, by their names on the server or by the names that models see. */
function findMatches(key: string, tools: readonly RuleTarget[], reference: KeyReference): Match[] {
  const own = new Set(tools.filter(({ info }) => matchesName(key, info.name)));
  const shown = new Set(tools.filter(({ names }) => names.some((name) => matchesName(key, name))));
  const serversOf = (matched: Iterable<RuleTarget>) => new Set(Array.from(matched, ({ server }) => server));
  const ownServers = serversOf(own);
  const shownServers = serversOf([...shown].filter((tool) => !own.has(tool)));
  const isPattern = key.includes("*");
  const isSame = createLooseMatcher(key);
  const isReferredTo = (tool: RuleTarget) => {
    const { server, info } = tool;
    if (reference.server !== undefined && reference.server !== server) return false;
    if (reference.names === "shown") return shown.has(tool);
    if (reference.names === "renamed")
      return shown.has(tool) && (server === TOOLSET_SERVER || !isSame(info.name));
    if (own.has(tool) && shown.has(tool)) return true;
    if (!isPattern) return shown.has(tool) || shown.size === 0;
    // A pattern refers either to names on the servers or to names that models see, not to both.
    if (shown.has(tool)) return !ownServers.has(server);
    return shownServers.size === (shownServers.has(server) ? 1 : 0);
  };
  return Array.from(new Set([...own, ...shown]), (tool) => {
    return { tool, isShown: shown.has(tool), isReferredTo: isReferredTo(tool) };
  });
}

export function isGuard(rule: ToolRule | false): boolean {
  return rule === false || (rule.requireApproval ?? false) !== false;
}

function toEntries(rules: Exclude<ToolRules, (tool: McpToolInfo) => unknown>): Entry[] {
  const entries: Entry[] = Array.isArray(rules)
    ? [...rules.map((name: string): Entry => [name, {}]), ["*", false]]
    : Object.entries(rules as Readonly<Record<string, ToolRule | boolean>>).map(([key, rule]): Entry => [
        key,
        rule === true ? {} : rule,
      ]);
  // The result must not depend on the order of the keys.
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** @throws McpRuntimeError `invalid-config` for anything but a rule, a boolean or nothing */
function toLevelRule(result: unknown): LevelRule {
  if (result === undefined) return NO_RULE;
  const rule = parseOptions(TOOL_RULE_SCHEMA, result, { subject: "The rule" });
  if (typeof rule === "boolean") return rule ? NO_RULE : EXCLUDED;
  const { requireApproval } = rule;
  return { isExcluded: false, rule, approval: requireApproval === undefined ? [] : [requireApproval] };
}

function settleRule(result: PromiseLike<unknown>): Promise<unknown> {
  const createError = () => new Error(`the rules function did not return within ${RULE_TIMEOUT_MS} ms`);
  const limit = { ms: RULE_TIMEOUT_MS, clock: systemClock, cancellation: new CancelScope(), createError };
  return withDeadline(limit, (scope) => scope.race(Promise.resolve(result)));
}

/**
 * A name that models see is more specific than a name on the server, and that than any pattern; of two patterns, the one
 * with more literal characters.
 */
function specificity(key: string, isShown: boolean): number {
  if (key.includes("*")) return key.replaceAll("*", "").length;
  return isShown ? Number.MAX_SAFE_INTEGER : Number.MAX_SAFE_INTEGER - 1;
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

/** Returns whether a key matches a name but for case and separators. */
export function createLooseMatcher(key: string): (name: string) => boolean {
  const normalizedKey = normalize(key);
  const isComparable = normalizedKey.replaceAll("*", "") !== "";
  return (name) => isComparable && matchesName(normalizedKey, normalize(name));
}

function normalize(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}*]/gu, "");
}

const MAX_QUOTED_LENGTH = 100;

/** The name of a tool comes from its server. */
export function quoteName(name: string): string {
  return JSON.stringify(truncate(stripHiddenCharacters(name), MAX_QUOTED_LENGTH));
}
