import type { ApprovalCondition, ToolRule } from "../config/tool-rules.js";
import { editDistance } from "../errors/find-closest-match.js";
import { joinNames } from "../errors/sanitize-text.js";
import {
  createLooseMatcher,
  type GuardState,
  isGuard,
  type LevelRule,
  type Match,
  type MatchedEntry,
  type MatchedRules,
  mergeRules,
  NO_RULE,
  quoteName,
  type RuleSet,
  type RuleTarget,
} from "./rule-set.js";
import type { KeyReference } from "./tool-names.js";

/** The rule of a tool from all levels. */
export interface ResolvedRule {
  /** Without a guard, the nearest level wins, field by field. */
  readonly rule: ToolRule;
  /** A call needs approval if one of these requires it. */
  readonly approval: readonly ApprovalCondition[];
}

/** A rule that refers to no tool. */
export interface UnmatchedRule {
  /** `undefined` for a rule for all servers. */
  readonly server: string | undefined;
  readonly message: string;
  readonly isError: boolean;
}

/** A guard that refers to a tool, or excludes those with a similar name. */
export interface AppliedGuard extends GuardState {
  readonly rules: RuleSet;
}

interface ServerRules {
  readonly server: string;
  readonly rules: RuleSet;
  readonly tools: readonly RuleTarget[];
}

interface ResolveOptions {
  /** The servers that have not listed their tools yet. */
  readonly unlistedServers: ReadonlySet<string>;
  /** Returns to which tools a key of the rules for all servers refers. */
  readonly toReference: (key: string) => KeyReference;
  /** Returns the name of a tool if it collides with no other; `undefined` if it cannot be determined. */
  readonly toBaseName: (tool: RuleTarget) => string | undefined;
  readonly error: (message: string) => void;
}

interface ResolvedRules {
  readonly rules: ReadonlyMap<RuleTarget, ResolvedRule | false>;
  readonly unmatched: readonly UnmatchedRule[];
  readonly guards: readonly AppliedGuard[];
}

/** The rules of a server, or those for all servers, and the tools to which they may apply. */
interface Level extends Pick<ServerRules, "rules" | "tools"> {
  /** `undefined`: all servers. */
  readonly server: string | undefined;
  readonly matched: MatchedRules;
}

/** The rule of a tool for which no level sets anything; shared, because that is the case for most tools. */
const NO_RESOLVED_RULE: ResolvedRule = Object.freeze({ rule: Object.freeze({}), approval: [] });

/**
 * Returns the rule of each tool, or `false` when it is excluded. Within one level the most specific entry decides;
 * between levels, the strictest guard counts: a tool has to be kept by both, and approval is required if either
 * requires it. Every other field and each injected argument comes from the server's level if that sets it. A guard that
 * refers to no tool excludes those with a similar name.
 */
export function resolveToolRules(
  servers: readonly ServerRules[],
  rulesForAll: RuleSet,
  options: ResolveOptions,
): ResolvedRules {
  const levels: Level[] = servers.map((level) => ({ ...level, matched: level.rules.match(level.tools) }));
  const tools = servers.flatMap((level) => level.tools);
  const matched = rulesForAll.match(tools, options.toReference);
  const forAll: Level = { server: undefined, rules: rulesForAll, tools, matched };
  const rules = new Map<RuleTarget, ResolvedRule | false>();
  for (const level of levels)
    for (const tool of level.tools) {
      const [ofServer = NO_RULE, ofAll = NO_RULE] = tool.decided;
      const ownRule = level.matched.rules.get(tool) ?? ofServer;
      const ruleForAll = matched.rules.get(tool) ?? ofAll;
      const isUnset = ownRule === NO_RULE && ruleForAll === NO_RULE;
      rules.set(tool, isUnset ? NO_RESOLVED_RULE : combineLevels([ownRule, ruleForAll]));
    }
  const { unlistedServers } = options;
  const unmatched: UnmatchedRule[] = [];
  const guards: AppliedGuard[] = [];
  for (const level of [...levels, forAll])
    for (const entry of level.matched.entries) {
      const { key } = entry;
      const { refersToTool, similar } = resolveGuard(entry, level, options);
      if (refersToTool || similar.length > 0)
        guards.push({ rules: level.rules, key, refersToTool, unlistedServers });
      if (similar.length === 0) unmatched.push(...describeUnmatched(entry, level, options));
      const excluded = similar.filter((tool) => rules.get(tool) !== false);
      for (const tool of excluded) rules.set(tool, false);
      if (excluded.length > 0) options.error(describeMisspelled(key, excluded, level.server));
    }
  return { rules, unmatched, guards };
}

/** `levels` start with the nearest. */
function combineLevels(levels: readonly LevelRule[]): ResolvedRule | false {
  if (levels.some(({ isExcluded }) => isExcluded)) return false;
  const rule = mergeRules(levels.map((level) => level.rule));
  const conditions = levels.flatMap(({ approval }) => approval);
  if (conditions.length === 0) return { rule, approval: [] };
  const required = conditions.filter((condition) => condition !== false);
  const approval = required.includes(true) ? [true] : [...new Set(required)];
  const [requireApproval = false, ...others] = approval;
  return { rule: { ...rule, requireApproval: others.length > 0 || requireApproval }, approval };
}

interface GuardEffect {
  /** Whether the guard refers to a tool. */
  readonly refersToTool: boolean;
  /** The tools that it does not match, but excludes, because it may be meant for them. */
  readonly similar: readonly RuleTarget[];
}

/**
 * A guard that refers to no tool excludes all with a similar name, unless it may refer to one that is not listed yet. One
 * that refers to tools by their names on the servers excludes those of other servers that models see under the same name
 * but for case and separators.
 */
function resolveGuard(
  { key, rule, reference, matches, possibleServers }: MatchedEntry,
  { tools }: Level,
  { toBaseName, unlistedServers }: ResolveOptions,
): GuardEffect {
  if (!isGuard(rule) || key === "*") return { refersToTool: false, similar: [] };
  const meant = matches.filter(
    ({ tool, isShown }) =>
      (isShown || reference.names !== "shown") && (possibleServers?.has(tool.server) ?? true),
  );
  if (meant.some(({ isShown }) => isShown)) return { refersToTool: true, similar: [] };
  const matched = new Set(matches.map(({ tool }) => tool));
  const others = tools.filter((tool) => !matched.has(tool));
  if (meant.length === 0) {
    const isServerUnlisted = reference.server !== undefined && unlistedServers.has(reference.server);
    if (isServerUnlisted) return { refersToTool: false, similar: [] };
    const close = findCloseTools(key, others, toBaseName);
    return { refersToTool: false, similar: close.map(({ tool }) => tool) };
  }
  const servers = new Set(meant.map(({ tool }) => tool.server));
  const isSame = createLooseMatcher(key);
  const similar = others.filter(({ server, names }) => !servers.has(server) && names.some(isSame));
  return { refersToTool: true, similar };
}

/** Longer names are compared only without case and separators: the server chooses their number and length. */
const MAX_COMPARED_LENGTH = 100;

interface CloseTool {
  readonly tool: RuleTarget;
  readonly distance: number;
}

/** Returns the tools with a name like a key that matches none, the closest first. */
function findCloseTools(
  key: string,
  tools: readonly RuleTarget[],
  toBaseName: ResolveOptions["toBaseName"],
): CloseTool[] {
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
    return { tool, distance: Math.min(...[...candidates].map(distanceTo)) };
  });
  const close = distances.filter(({ distance }) => distance <= limit);
  return close.toSorted((one, other) => one.distance - other.distance);
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
  const isSame = createLooseMatcher(key);
  return (name) => {
    if (isSame(name)) return 0;
    if (limit === 0 || name.length > MAX_COMPARED_LENGTH) return Number.POSITIVE_INFINITY;
    return editDistance(lowerKey, name.toLowerCase(), limit);
  };
}

function describeMisspelled(key: string, tools: readonly RuleTarget[], level: string | undefined): string {
  const where = level === undefined ? "The rule" : `Server "${level}": the rule`;
  const effect =
    tools.length === 1
      ? "but its name is close, so that tool is excluded"
      : "but their names are close, so those tools are excluded";
  return `${where} for ${quoteName(key)} does not match ${joinNames(tools.map(describeTool), MAX_NAMES)}, ${effect}. Correct the name in the rule.`;
}

/** Describes what a rule lacks: nothing if it refers to a tool, or if it has only a guard and that applies to one. */
function describeUnmatched(
  { key, rule, reference, matches }: MatchedEntry,
  { server, tools, matched }: Level,
  { toBaseName }: ResolveOptions,
): UnmatchedRule[] {
  const hasArgs = rule !== false && rule.args !== undefined;
  const isApplied = matches.some(({ isReferredTo }) => isReferredTo || (isGuard(rule) && !hasArgs));
  if (isApplied || key === "*") return [];
  const owner = server ?? reference.server;
  const candidates = tools.filter((tool) => owner === undefined || owner === tool.server);
  const isEmptied =
    candidates.length > 0 && candidates.every((tool) => matched.rules.get(tool)?.isExcluded === true);
  const emptied = owner === undefined ? " No tool is left." : ` No tool of server "${owner}" is left.`;
  // Tools that are close to a guard are excluded.
  const close = isGuard(rule) ? [] : findCloseTools(key, tools, toBaseName);
  const text =
    matches.length > 0
      ? `${describeOnlyGuards(key, matches)}${hasArgs ? " Its args are not injected." : ""}`
      : describeNoMatch(key, { server, tools, close });
  const isError = isEmptied || (hasArgs && matches.length > 0);
  return [{ server, message: isEmptied ? `${text}${emptied}` : text, isError }];
}

function describeOnlyGuards(key: string, matches: readonly Match[]): string {
  const tools = matches.map(({ tool }) => tool);
  const isOtherName = !key.includes("*") && !matches.some(({ isShown }) => isShown);
  const [name] = isOtherName ? (tools[0]?.names ?? []) : [];
  const correction = name === undefined ? "" : `use the key ${quoteName(name)}, or `;
  const servers = [...new Set(tools.map(({ server }) => JSON.stringify(server)))];
  return `The rule for ${quoteName(key)} matches ${joinNames(tools.map(describeTool), MAX_NAMES)}, but may refer to a tool of another server, which may not be connected: only its guards apply. To apply all of it, ${correction}add it to the tools of server ${joinNames(servers, MAX_NAMES)}.`;
}

function describeTool({ server, info, names }: RuleTarget): string {
  const shown = names.map((name) => ` (${quoteName(name)})`).join("");
  return `${quoteName(info.name)} of server "${server}"${shown}`;
}

const MAX_NAMES = 20;

function describeNoMatch(
  key: string,
  { server, tools, close }: Pick<Level, "server" | "tools"> & { readonly close: readonly CloseTool[] },
): string {
  const subject =
    server === undefined
      ? `The rule for "${key}" does not match a tool of any server.`
      : `Server "${server}": the rule for "${key}" does not match any of its tools.`;
  const nameOf = ({ info, names: [name] }: RuleTarget) =>
    quoteName(server === undefined ? (name ?? info.name) : info.name);
  const closest = close.filter(({ distance }) => distance === close[0]?.distance);
  const names = closest.slice(0, MAX_NAMES).map(({ tool }) => nameOf(tool));
  const meant = names.length === 0 ? "" : ` Did you mean ${names.join(" or ")}?`;
  const listed = tools.length === 0 ? "" : ` Tools: ${joinNames(tools.map(nameOf), MAX_NAMES)}.`;
  return `${subject}${meant}${listed}`;
}
