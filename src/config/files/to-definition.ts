import { isAuthGrant } from "../auth-grant.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { SERVER_DEFAULTS } from "../server-config.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import { CONFIG_FORMATS, type ConfigFormat, type ConfigFormatName } from "./config-formats.js";
import type { ConfigScope } from "./config-source.js";
import { issuesOfEntry, issuesOfTexts, TOOL_LISTS } from "./validate-entry.js";

/** How a server is reached: here, variables have a meaning. */
const REACH =
  "url headers dpop tls command args env cwd encoding functionName qualifier region endpoint envFile".split(
    " ",
  );
/** How it is treated: options of ours, which a file may have as well. */
const TREATMENT =
  "timeouts session limits retry breaker tools trustAnnotations optional lazy protocol roots secrets".split(
    " ",
  );
/** What was read and has been dealt with. */
const UNDERSTOOD = new Set([
  ...REACH,
  ...TREATMENT,
  ...TOOL_LISTS,
  ..."type transport transportType httpUrl serverUrl timeout".split(" "),
  ..."disabled enabled source headersHelper sandboxEnabled sandbox".split(" "),
]);

const OF_PROGRAMS: ReadonlySet<string> = new Set(["args", "env", "envFile", "cwd", "encoding"]);
const OF_ADDRESSES: ReadonlySet<string> = new Set(["headers", "tls", "auth", "dpop"]);

const KIND_WORDS: ReadonlyMap<unknown, string> = new Map([
  ["local", "stdio"],
  ["ws", "websocket"],
]);

/** An entry of a file in our own words, before its variables are looked up. */
export interface TranslatedEntry {
  readonly reach: JsonObject;
  readonly treatment: JsonObject;
  readonly ignored: readonly string[];
  /** Why it is off, if it is. */
  readonly off: string | undefined;
  readonly issues: readonly ConfigIssue[];
  /** Where our keys stand in the file, if elsewhere. */
  readonly places: ReadonlyMap<PropertyKey, readonly string[]>;
}

interface EntryOrigin {
  readonly format: ConfigFormatName;
  readonly scope: ConfigScope;
}

export function toDefinition(entry: JsonObject, { format, scope }: EntryOrigin): TranslatedEntry {
  const rules: ConfigFormat = CONFIG_FORMATS[format];
  const own = Object.fromEntries(TREATMENT.map((key) => [key, entry[key]]));
  const treatment = { ...own, ...timeoutsOf(entry, rules), tools: toolRulesOf(entry) };
  const reach = defined({ ...reachOf(entry), ...kindOf(entry, rules) });
  const isHeard = (key: string) => UNDERSTOOD.has(key) || Object.hasOwn(reach, key);
  const ignored = Object.keys(entry).filter((key) => !isHeard(key) || isOutdone(key, entry));
  // Whoever may write to the project would decide what runs without a question.
  if (scope === "project" && entry["trustAnnotations"] !== undefined) {
    Object.assign(treatment, { trustAnnotations: undefined });
    ignored.push("trustAnnotations");
  }
  const foreign = Object.keys(reach).filter((key) => isForeign(key, reach));
  return {
    reach: without(reach, foreign),
    treatment: defined(treatment),
    ignored: [...ignored, ...foreign],
    off: whyOff(entry),
    issues: [...issuesOfEntry(entry, rules), ...issuesOfTexts(reach)],
    places: placesOf(entry),
  };
}

function reachOf(entry: JsonObject): JsonObject {
  const reach = Object.fromEntries(REACH.map((key) => [key, entry[key] ?? undefined]));
  const { url, command, env } = reach;
  return {
    ...reach,
    // Other clients have logins of theirs under that name.
    ...(isAuthGrant(entry["auth"]) ? { auth: entry["auth"] } : {}),
    url: url ?? entry["httpUrl"] ?? entry["serverUrl"],
    env: toVariables(env),
    // As Zed had it once.
    ...(isPlainObject(command)
      ? { command: command["path"], args: command["args"], env: toVariables(command["env"]) }
      : {}),
  };
}

/** Numbers are written out, and `null` takes a variable away. */
function toVariables(env: unknown): unknown {
  if (!isPlainObject(env)) return env ?? undefined;
  const entries = Object.entries(env).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "number" ? String(value) : value]),
  );
}

function placesOf(entry: JsonObject): TranslatedEntry["places"] {
  const { command } = entry;
  const first = (...keys: string[]) => [
    keys.find((key) => (entry[key] ?? undefined) !== undefined) ?? keys[0] ?? "",
  ];
  const ofProgram: [string, string[]][] = [
    ["command", ["command", "path"]],
    ["args", ["command", "args"]],
    ["env", ["command", "env"]],
  ];
  return new Map([
    ["url", first("url", "httpUrl", "serverUrl")],
    ["type", first("type", "transport", "transportType")],
    ...(isPlainObject(command) ? ofProgram : []),
  ]);
}

function kindOf(entry: JsonObject, { urlMeans }: ConfigFormat): JsonObject {
  const { type, transport, transportType, url } = entry;
  const word = type ?? transport ?? transportType;
  if (word !== undefined) return { type: KIND_WORDS.get(word) ?? word };
  const isSse = urlMeans === "sse" && typeof url === "string" && /^https?:/i.test(url);
  return isSse && entry["command"] === undefined ? { type: "sse" } : {};
}

/** One number, for a request: others have no more. */
function timeoutsOf({ timeout, timeouts }: JsonObject, { timeoutUnitMs }: ConfigFormat): JsonObject {
  if (timeouts !== undefined || typeof timeout !== "number") return {};
  const requestMs = timeout * timeoutUnitMs;
  return { timeouts: { requestMs, totalMs: Math.max(requestMs, SERVER_DEFAULTS.timeouts.totalMs) } };
}

/** What others have for something of ours that stands beside it: they may read the same file. */
function isOutdone(key: string, { tools, timeouts }: JsonObject): boolean {
  return (key === "timeout" && timeouts !== undefined) || (key === "includeTools" && !isForAll(tools));
}

/** All tools, as others write it. */
function isForAll(tools: unknown): boolean {
  return tools === undefined || (Array.isArray(tools) && tools.includes("*"));
}

/** Ours, or what others have for the same; and never what any list keeps away. */
function toolRulesOf({ tools, includeTools, excludeTools, disabledTools }: JsonObject): unknown {
  const rules = isForAll(tools) ? namesOrNone(includeTools) : tools;
  const refused = [...(namesOrNone(excludeTools) ?? []), ...(namesOrNone(disabledTools) ?? [])];
  if (refused.length === 0) return rules;
  const allowed = namesOrNone(rules);
  const own = allowed === undefined ? rules : { "*": false, ...byName(allowed, {}) };
  return own === undefined || isPlainObject(own) ? { ...own, ...byName(refused, false) } : own;
}

function byName(names: readonly string[], rule: JsonObject | false): JsonObject {
  return Object.fromEntries(names.map((name) => [name, rule]));
}

function namesOrNone(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((name) => typeof name === "string") ? value : undefined;
}

function whyOff({ disabled, enabled, source, settings, command, url }: JsonObject): string | undefined {
  if (disabled === true) return "its file says disabled: true";
  if (enabled === false) return "its file says enabled: false";
  const hasOnlySettings = settings !== undefined && command === undefined && url === undefined;
  const isExtension = source === "extension" || hasOnlySettings;
  return isExtension ? "it comes with an extension that only Zed can start" : undefined;
}

/** Clients write keys of one kind into the other: `"env": {}` next to a `url`. */
function isForeign(key: string, { command }: JsonObject): boolean {
  return command === undefined ? OF_PROGRAMS.has(key) : OF_ADDRESSES.has(key);
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

function defined(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
