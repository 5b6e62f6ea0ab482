import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, isStringArray, type JsonObject, omitUndefined } from "../../json/json.js";
import { isAuthGrant } from "../auth-grant.js";
import { OUTPUT_FIELDS } from "../output-options.js";
import { flattenIssues, option, type PathIssue, strictObject, ZOD_CONTEXT } from "../parse-options.js";
import {
  limitRequestTimeout,
  lowerLimits,
  type RestrictedOption,
  type Restriction,
  restrictOptions,
  SERVER_DEFAULTS,
} from "../server-config.js";
import type { COMMON_FIELDS } from "../server-definition.js";
import { CONFIG_FORMATS, type ConfigFormat } from "./config-locations.js";
import type { ConfigProblemKind } from "./config-options.js";
import type { ConfigFile } from "./parse-document.js";

/** A problem of a server, and its path in the entry. */
export interface ServerProblem extends PathIssue {
  readonly kind: Extract<ConfigProblemKind, "unset-variable" | "bad-definition" | "restricted-option">;
}

export function badDefinition(path: readonly PropertyKey[], message: string): ServerProblem {
  return { kind: "bad-definition", path, message };
}

/** How the server is reached. Variables are expanded in these keys only. */
const CONNECTION_KEYS = [
  "url",
  "headers",
  "dpop",
  "tls",
  "command",
  "args",
  "env",
  "cwd",
  "encoding",
  "envFile",
  "functionName",
  "qualifier",
  "region",
  "endpoint",
];
/**
 * Whether files may set an option of this library. Typed as a record, so that a new option is not forgotten:
 * what a project file may set is decided in `restrictOption`.
 */
const FILE_OPTIONS: Readonly<Record<keyof typeof COMMON_FIELDS, boolean>> = {
  timeouts: true,
  session: true,
  limits: true,
  retry: true,
  circuitBreaker: true,
  tools: true,
  trustAnnotations: true,
  structuredContent: true,
  outputHandling: true,
  onToolError: true,
  descriptions: true,
  inputValidation: true,
  optional: true,
  lazy: true,
  protocol: true,
  roots: true,
  onSamplingRequest: false,
  onElicitationRequest: false,
  extensions: false,
  fallback: false,
  classify: false,
  secrets: true,
  allowAddress: false,
};
const OPTION_KEYS = Object.entries(FILE_OPTIONS).flatMap(([key, isAllowed]) => (isAllowed ? [key] : []));
/** The tool lists of other clients. */
const TOOL_LISTS: ReadonlySet<unknown> = new Set(["includeTools", "excludeTools", "disabledTools"]);
const TYPE_KEYS = ["type", "transport", "transportType"];
const URL_KEYS = ["url", "httpUrl", "serverUrl"];
/** All keys that are understood. */
const KNOWN_KEYS: ReadonlySet<unknown> = new Set([
  ...CONNECTION_KEYS,
  ...OPTION_KEYS,
  ...TOOL_LISTS,
  ...TYPE_KEYS,
  ...URL_KEYS,
  "timeout",
  "disabled",
  "enabled",
  "source",
  "headersHelper",
  "sandboxEnabled",
  "sandbox",
]);

const STDIO_KEYS: ReadonlySet<string> = new Set(["args", "env", "envFile", "cwd", "encoding"]);
const HTTP_KEYS: ReadonlySet<string> = new Set(["headers", "tls", "auth", "dpop"]);

const TYPE_ALIASES: ReadonlyMap<unknown, string> = new Map([
  ["local", "stdio"],
  ["ws", "websocket"],
]);

export type TranslatedEntry = ReturnType<typeof translateEntry>;

/**
 * Removes or limits the options that a project file may not set, because it may be written by others: it can
 * only narrow what the operator allows.
 */
export function restrictEntry(
  entry: JsonObject,
  { timeoutUnitMs }: ConfigFormat,
): { readonly entry: JsonObject; readonly restricted: RestrictedOption[] } {
  const restricted: RestrictedOption[] = [];
  const toRule = ([name, rule]: [string, unknown]) => [
    name,
    restrictOptions(rule, restrictRule, { path: ["tools", name], restricted }),
  ];
  const { tools } = entry;
  const options = isPlainObject(tools)
    ? { tools: Object.fromEntries(Object.entries(tools).map(toRule)) as JsonObject }
    : {};
  const lowered = lowerLimits({ ...entry, ...options }, restricted);
  const restrict: Restriction = (key, value) =>
    key === "timeout" ? limitRequestTimeout(value, timeoutUnitMs) : restrictOption(key, value);
  return { entry: restrictOptions(lowered, restrict, { path: [], restricted }) as JsonObject, restricted };
}

/** Removes options that allow more, or that change what models see in place of those of the toolset. */
function restrictOption(key: string, value: unknown): unknown {
  if (key === "inputValidation") return value === "error" ? value : undefined;
  if (key === "trustAnnotations") return value === false ? value : undefined;
  // The limits of the toolset are not known here.
  return key === "descriptions" || Object.hasOwn(OUTPUT_FIELDS, key) ? undefined : value;
}

/** Removes options of a tool rule that allow more, or that change what models see and servers receive. */
function restrictRule(key: string, value: unknown): unknown {
  if (key === "timeoutMs") return limitRequestTimeout(value);
  return isOperatorRule(key, value) ? undefined : value;
}

function isOperatorRule(key: string, value: unknown): boolean {
  if (key === "requireApproval" || key === "durable") return value === false;
  if (key === "inputValidation") return value !== "error";
  return key === "idempotent" ? value !== false : key === "args" || key === "description";
}

export function toRestrictedProblem({ path, limit }: RestrictedOption): ServerProblem {
  const effect = limit === undefined ? "is ignored" : `is reduced to ${limit}`;
  const message = `${effect}, because project files can only narrow what your program allows: set it in code or in a file of your own`;
  return { kind: "restricted-option", path, message };
}

/** Translates an entry in the format of any client to a server definition, before variables are expanded. */
export function translateEntry(entry: JsonObject, { format }: ConfigFile["source"]) {
  const rules: ConfigFormat = CONFIG_FORMATS[format];
  const ownOptions = Object.fromEntries(OPTION_KEYS.map((key) => [key, entry[key]]));
  const options: JsonObject = { ...ownOptions, ...toTimeouts(entry, rules), tools: toToolRules(entry) };
  const connection = omitUndefined({ ...toConnection(entry), ...toType(entry, rules) });
  const isKnownKey = (key: string) => KNOWN_KEYS.has(key) || Object.hasOwn(connection, key);
  const ignored = Object.keys(entry).filter((key) => !isKnownKey(key) || isOverridden(key, entry));
  // Some clients write keys of other transports: `"env": {}` next to a `url`.
  const irrelevantKeys = connection["command"] === undefined ? STDIO_KEYS : HTTP_KEYS;
  const irrelevant = Object.keys(connection).filter((key) => irrelevantKeys.has(key));
  const problems = [...validateSettings(entry, rules), ...validateStrings(connection)];
  return {
    connection: Object.fromEntries(Object.entries(connection).filter(([key]) => !irrelevantKeys.has(key))),
    options: omitUndefined(options),
    ignored: [...ignored, ...irrelevant],
    disabledReason: getDisabledReason(entry),
    // An invalid list of tools is meant to restrict them, too.
    hasToolRules: options["tools"] !== undefined || problems.some(({ path: [key] }) => TOOL_LISTS.has(key)),
    problems,
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

/** The paths in the file of keys that have another name there. */
function findSourceKeys(entry: JsonObject): ReadonlyMap<PropertyKey, readonly string[]> {
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
    ["url", first(...URL_KEYS)],
    ["type", first(...TYPE_KEYS)],
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

function toNames(value: unknown): readonly string[] | undefined {
  return isStringArray(value) ? value : undefined;
}

function getDisabledReason(entry: JsonObject): string | undefined {
  if (entry["disabled"] === true) return "its file has disabled: true";
  if (entry["enabled"] === false) return "its file has enabled: false";
  const { source, settings, command, url } = entry;
  const hasOnlySettings = settings !== undefined && command === undefined && url === undefined;
  const isExtension = source === "extension" || hasOnlySettings;
  return isExtension ? "provided by an extension that only Zed can start" : undefined;
}

function isTimeout(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}

/** Finds invalid and unsupported settings of other clients, so that none is ignored silently. */
function validateSettings(entry: JsonObject, { timeoutUnitMs }: ConfigFormat): ServerProblem[] {
  const toggle = option.boolean.optional();
  const unit = timeoutUnitMs === 1 ? "milliseconds" : "seconds";
  // An invalid list that excludes tools must not be ignored.
  const toolNames = option
    .opaque<readonly string[]>("an array of tool names (strings)", isStringArray)
    .nullish();
  const settings = strictObject({
    disabled: toggle,
    enabled: toggle,
    sandboxEnabled: toggle.refine(
      (isEnabled) => isEnabled !== true,
      "requests a sandbox, which is not supported: remove it to start the program without one",
    ),
    headersHelper: option
      .any()
      .refine(
        (command) => command === undefined,
        "is a command, and commands in config files are never run: use headers with ${NAME} instead",
      ),
    timeout: option.opaque<number>(`a request timeout of 0 or more ${unit}`, isTimeout).nullish(),
    includeTools: toolNames,
    excludeTools: toolNames,
    disabledTools: toolNames,
  });
  const { error } = settings.strip().safeParse(entry, ZOD_CONTEXT);
  return flattenIssues(error?.issues ?? []).map(({ path, message }) => badDefinition(path, message));
}

/** Reports only the first non-string of each, because lists can have any length. */
function validateStrings(connection: JsonObject): ServerProblem[] {
  return ["args", "env", "headers"].flatMap((key) => {
    const value = connection[key];
    if (!Array.isArray(value) && !isPlainObject(value)) return [];
    const [name, actual] = Object.entries(value).find(([, text]) => typeof text !== "string") ?? [];
    if (name === undefined) return [];
    const path = [key, Array.isArray(value) ? Number(name) : name];
    return [badDefinition(path, `expected a string, got ${describeValue(actual)}`)];
  });
}
