import { isAuthGrant } from "../auth-grant.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../../json/json.js";
import { SERVER_DEFAULTS } from "../server-config.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import { CONFIG_FORMATS, type ConfigFormat, type ConfigFormatName } from "./config-formats.js";
import type { ConfigScope } from "./config-source.js";
import { describeValue, formatPath } from "../../json/describe-value.js";

/** How the server is reached. Variables are expanded in these keys only. */
const CONNECTION_KEYS =
  "url headers dpop tls command args env cwd encoding functionName qualifier region endpoint envFile".split(
    " ",
  );
/** Options of this library, which files may set, too. */
const OPTION_KEYS =
  "timeouts session limits retry circuitBreaker tools trustAnnotations optional lazy protocol roots secrets".split(
    " ",
  );
/** The keys of other clients for allowed and excluded tools. */
const TOOL_LIST_KEYS = ["includeTools", "excludeTools", "disabledTools"] as const;
/** All keys that are understood. */
const KNOWN_KEYS = new Set([
  ...CONNECTION_KEYS,
  ...OPTION_KEYS,
  ...TOOL_LIST_KEYS,
  ..."type transport transportType httpUrl serverUrl timeout".split(" "),
  ..."disabled enabled source headersHelper sandboxEnabled sandbox".split(" "),
]);

const STDIO_KEYS: ReadonlySet<string> = new Set(["args", "env", "envFile", "cwd", "encoding"]);
const HTTP_KEYS: ReadonlySet<string> = new Set(["headers", "tls", "auth", "dpop"]);

const TYPE_ALIASES: ReadonlyMap<unknown, string> = new Map([
  ["local", "stdio"],
  ["ws", "websocket"],
]);

/** An entry of a config file in the form of a server definition, before variables are expanded. */
export interface TranslatedEntry {
  readonly connection: JsonObject;
  readonly options: JsonObject;
  readonly ignored: readonly string[];
  /** Why the server is disabled, if it is. */
  readonly disabledReason: string | undefined;
  readonly issues: readonly ConfigIssue[];
  /** The paths in the file of keys that have another name there. */
  readonly sourceKeys: ReadonlyMap<PropertyKey, readonly string[]>;
}

interface EntryOrigin {
  readonly format: ConfigFormatName;
  readonly scope: ConfigScope;
}

/** Translates an entry in the format of any client to a server definition. */
export function toDefinition(entry: JsonObject, { format, scope }: EntryOrigin): TranslatedEntry {
  const rules: ConfigFormat = CONFIG_FORMATS[format];
  const ownOptions = Object.fromEntries(OPTION_KEYS.map((key) => [key, entry[key]]));
  const options = { ...ownOptions, ...toTimeouts(entry, rules), tools: toToolRules(entry) };
  const connection = omitUndefined({ ...toConnection(entry), ...toType(entry, rules) });
  const isKnownKey = (key: string) => KNOWN_KEYS.has(key) || Object.hasOwn(connection, key);
  const ignored = Object.keys(entry).filter((key) => !isKnownKey(key) || isOverridden(key, entry));
  // A project file may be written by others, who must not decide which tools run without approval.
  if (scope === "project" && entry["trustAnnotations"] !== undefined) {
    Object.assign(options, { trustAnnotations: undefined });
    ignored.push("trustAnnotations");
  }
  const irrelevant = Object.keys(connection).filter((key) => isIrrelevant(key, connection));
  return {
    connection: omitKeys(connection, irrelevant),
    options: omitUndefined(options),
    ignored: [...ignored, ...irrelevant],
    disabledReason: getDisabledReason(entry),
    issues: [...validateEntry(entry, rules), ...validateStrings(connection)],
    sourceKeys: findSourceKeys(entry),
  };
}

function toConnection(entry: JsonObject): JsonObject {
  const connection = Object.fromEntries(CONNECTION_KEYS.map((key) => [key, entry[key] ?? undefined]));
  const { url, command, env } = connection;
  return {
    ...connection,
    // Other clients store their own login settings under `auth`.
    ...(isAuthGrant(entry["auth"]) ? { auth: entry["auth"] } : {}),
    url: url ?? entry["httpUrl"] ?? entry["serverUrl"],
    env: toVariables(env),
    // The former format of Zed.
    ...(isPlainObject(command)
      ? { command: command["path"], args: command["args"], env: toVariables(command["env"]) }
      : {}),
  };
}

/** Converts numbers to strings; `null` removes a variable. */
function toVariables(env: unknown): unknown {
  if (!isPlainObject(env)) return env ?? undefined;
  const entries = Object.entries(env).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "number" ? String(value) : value]),
  );
}

function findSourceKeys(entry: JsonObject): TranslatedEntry["sourceKeys"] {
  const { command } = entry;
  const first = (...keys: string[]) => [
    keys.find((key) => (entry[key] ?? undefined) !== undefined) ?? keys[0] ?? "",
  ];
  const zedCommandKeys: [string, string[]][] = [
    ["command", ["command", "path"]],
    ["args", ["command", "args"]],
    ["env", ["command", "env"]],
  ];
  return new Map([
    ["url", first("url", "httpUrl", "serverUrl")],
    ["type", first("type", "transport", "transportType")],
    ...(isPlainObject(command) ? zedCommandKeys : []),
  ]);
}

function toType(entry: JsonObject, { urlMeans }: ConfigFormat): JsonObject {
  const { type, transport, transportType, url } = entry;
  const typeName = type ?? transport ?? transportType;
  if (typeName !== undefined) return { type: TYPE_ALIASES.get(typeName) ?? typeName };
  const isSse = urlMeans === "sse" && typeof url === "string" && /^https?:/i.test(url);
  return isSse && entry["command"] === undefined ? { type: "sse" } : {};
}

/** Other clients have a single request timeout. */
function toTimeouts({ timeout, timeouts }: JsonObject, { timeoutUnitMs }: ConfigFormat): JsonObject {
  if (timeouts !== undefined || typeof timeout !== "number") return {};
  const requestMs = timeout * timeoutUnitMs;
  return { timeouts: { requestMs, totalMs: Math.max(requestMs, SERVER_DEFAULTS.timeouts.totalMs) } };
}

/** Options of this library take precedence over those of other clients in the same entry. */
function isOverridden(key: string, { tools, timeouts }: JsonObject): boolean {
  return (key === "timeout" && timeouts !== undefined) || (key === "includeTools" && !isWildcard(tools));
}

/** All tools are allowed: not set, or `["*"]`. */
function isWildcard(tools: unknown): boolean {
  return tools === undefined || (Array.isArray(tools) && tools.includes("*"));
}

/** Our rules or the allow list of another client, without excluded tools. */
function toToolRules({ tools, includeTools, excludeTools, disabledTools }: JsonObject): unknown {
  const rules = isWildcard(tools) ? toNames(includeTools) : tools;
  const excluded = [...(toNames(excludeTools) ?? []), ...(toNames(disabledTools) ?? [])];
  if (excluded.length === 0) return rules;
  const allowed = toNames(rules);
  const own = allowed === undefined ? rules : { "*": false, ...toRules(allowed, {}) };
  return own === undefined || isPlainObject(own) ? { ...own, ...toRules(excluded, false) } : own;
}

function toRules(names: readonly string[], rule: JsonObject | false): JsonObject {
  return Object.fromEntries(names.map((name) => [name, rule]));
}

function toNames(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((name) => typeof name === "string") ? value : undefined;
}

function getDisabledReason({
  disabled,
  enabled,
  source,
  settings,
  command,
  url,
}: JsonObject): string | undefined {
  if (disabled === true) return "its file has disabled: true";
  if (enabled === false) return "its file has enabled: false";
  const hasOnlySettings = settings !== undefined && command === undefined && url === undefined;
  const isExtension = source === "extension" || hasOnlySettings;
  return isExtension ? "provided by an extension that only Zed can start" : undefined;
}

/** Some clients write keys of other transports: `"env": {}` next to a `url`. */
function isIrrelevant(key: string, { command }: JsonObject): boolean {
  return command === undefined ? STDIO_KEYS.has(key) : HTTP_KEYS.has(key);
}

function omitKeys(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** Reports invalid and unsupported settings of other clients, so that none is ignored silently. */
function validateEntry(entry: JsonObject, format: ConfigFormat): ConfigIssue[] {
  return [
    ...["disabled", "enabled", "sandboxEnabled"].flatMap((key) => validateToggle(key, entry[key])),
    ...validateUnsupported(entry),
    ...validateTimeout(entry, format),
    ...TOOL_LIST_KEYS.flatMap((key) => validateToolList(key, entry[key])),
  ];
}

function validateToggle(path: string, value: unknown): ConfigIssue[] {
  if (value === undefined || typeof value === "boolean") return [];
  return [{ path, message: `expected true or false, got ${describeValue(value)}` }];
}

function validateUnsupported({ headersHelper, sandboxEnabled }: JsonObject): ConfigIssue[] {
  const command =
    "is a command, and commands in config files are never run: use headers with ${NAME} instead";
  const sandbox = "requests a sandbox, which is not supported: remove it to start the program without one";
  return [
    ...(headersHelper === undefined ? [] : [{ path: "headersHelper", message: command }]),
    ...(sandboxEnabled === true ? [{ path: "sandboxEnabled", message: sandbox }] : []),
  ];
}

function validateTimeout({ timeout = null }: JsonObject, format: ConfigFormat): ConfigIssue[] {
  if (timeout === null || (typeof timeout === "number" && timeout >= 0)) return [];
  const unit = format.timeoutUnitMs === 1 ? "milliseconds" : "seconds";
  const actual = typeof timeout === "number" ? "a negative number" : describeValue(timeout);
  return [{ path: "timeout", message: `expected a request timeout in ${unit}, got ${actual}` }];
}

/** An invalid list that excludes tools must not be ignored. */
function validateToolList(path: string, names: unknown): ConfigIssue[] {
  if (names === undefined || names === null) return [];
  const isList = Array.isArray(names);
  if (isList && names.every((name) => typeof name === "string")) return [];
  const actual = isList ? "an array with other items" : describeValue(names);
  return [{ path, message: `expected an array of tool names, got ${actual}` }];
}

/** Reports only the first non-string of each, because lists can have any length. */
function validateStrings(connection: JsonObject): ConfigIssue[] {
  return ["args", "env", "headers"].flatMap((key) => {
    const value = connection[key];
    if (!Array.isArray(value) && !isPlainObject(value)) return [];
    const [name, actual] = Object.entries(value).find(([, text]) => typeof text !== "string") ?? [];
    if (name === undefined) return [];
    const path = formatPath([key, Array.isArray(value) ? Number(name) : name]);
    return [{ path, message: `expected a string, got ${describeValue(actual)}` }];
  });
}
