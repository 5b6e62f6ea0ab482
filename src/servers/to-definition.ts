import { isAuthGrant } from "../definitions/auth-grant.js";
import { describeFound, toPath } from "../definitions/definition-issues.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import { SERVER_DEFAULTS } from "../definitions/server-spec.js";
import type { DefinitionIssue } from "../errors/mcp-runtime-error.js";
import { CONFIG_FORMATS, type ConfigFormat, type ConfigFormatName } from "./config-formats.js";
import type { ConfigScope } from "./config-source.js";

/** How a server is reached: here, variables have a meaning. */
const REACH =
  "url headers tls command args env cwd encoding functionName qualifier region endpoint envFile".split(" ");
/** How it is treated: options of ours, which a file may have as well. */
const TREATMENT =
  "timeouts session limits retry breaker tools trustAnnotations optional lazy protocol roots secrets".split(
    " ",
  );
/** What was read and has been dealt with. */
const UNDERSTOOD = new Set([
  ...REACH,
  ...TREATMENT,
  ..."type transport transportType httpUrl serverUrl timeout includeTools excludeTools disabledTools".split(
    " ",
  ),
  ..."disabled enabled source headersHelper sandboxEnabled sandbox".split(" "),
]);

const OF_PROGRAMS: ReadonlySet<string> = new Set(["args", "env", "envFile", "cwd", "encoding"]);
const OF_ADDRESSES: ReadonlySet<string> = new Set(["headers", "tls", "auth"]);

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
  readonly issues: readonly DefinitionIssue[];
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
  const ignored = Object.keys(entry).filter((key) => !UNDERSTOOD.has(key) && !Object.hasOwn(reach, key));
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
    issues: [...issuesOf(entry), ...issuesOfTexts(reach)],
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
    ...(isJsonObject(command)
      ? { command: command["path"], args: command["args"], env: toVariables(command["env"]) }
      : {}),
  };
}

/** Numbers are written out, and `null` takes a variable away. */
function toVariables(env: unknown): unknown {
  if (!isJsonObject(env)) return env ?? undefined;
  const entries = Object.entries(env).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "number" ? String(value) : value]),
  );
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
  if (timeouts !== undefined || typeof timeout !== "number" || !(timeout > 0)) return {};
  const requestMs = timeout * timeoutUnitMs;
  return { timeouts: { requestMs, totalMs: Math.max(requestMs, SERVER_DEFAULTS.timeouts.totalMs) } };
}

/** Ours, or what others have for the same: lists of what is allowed, and of what is not. */
function toolRulesOf({ tools, includeTools, excludeTools, disabledTools }: JsonObject): unknown {
  if (tools !== undefined) return Array.isArray(tools) && tools.includes("*") ? undefined : tools;
  const allowed = namesOrNone(includeTools);
  const refused = [...(namesOrNone(excludeTools) ?? []), ...(namesOrNone(disabledTools) ?? [])];
  if (refused.length === 0) return allowed;
  const rest = allowed === undefined ? [] : [["*", false], ...allowed.map((name) => [name, {}])];
  return Object.fromEntries([...rest, ...refused.map((name) => [name, false])]);
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

/** What is not done here, and must not be left out in silence. */
function issuesOf(entry: JsonObject): DefinitionIssue[] {
  const switches = ["disabled", "enabled"].filter((key) => !isSwitch(entry[key]));
  const issues = switches.map((path) => ({
    path,
    message: `expected true or false, found ${describeFound(entry[path])}`,
  }));
  if (entry["headersHelper"] !== undefined)
    issues.push({
      path: "headersHelper",
      message: "is a command, and commands in values are never run: write headers with ${NAME} instead",
    });
  if (entry["sandboxEnabled"] === true)
    issues.push({
      path: "sandboxEnabled",
      message: "asks for a sandbox, and there is none here: take it away to start the program without one",
    });
  return issues;
}

/** The first of each that is no text: a list can be of any length. */
function issuesOfTexts(reach: JsonObject): DefinitionIssue[] {
  return ["args", "env", "headers"].flatMap((key) => {
    const value = reach[key];
    if (!Array.isArray(value) && !isJsonObject(value)) return [];
    const [at, found] = Object.entries(value).find(([, text]) => typeof text !== "string") ?? [];
    if (at === undefined) return [];
    const path = toPath([key, Array.isArray(value) ? Number(at) : at]);
    return [{ path, message: `expected a text, found ${describeFound(found)}` }];
  });
}

function isSwitch(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
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
