import { basename, resolve } from "node:path";
import { parseEnv } from "node:util";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Redactor } from "../../errors/redaction.js";
import { hasHiddenCharacters, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { fullHash } from "../../json-schema/schema-hash.js";
import { describeValue, formatPath } from "../../json/describe-value.js";
import { parseJsonPath } from "../../json/json-path.js";
import {
  isPlainObject,
  isStringArray,
  type JsonObject,
  omitUndefined,
  tryDecodeURIComponent,
} from "../../json/json.js";
import { isAuthGrant } from "../auth-grant.js";
import {
  limitRequestTimeout,
  lowerLimits,
  type RestrictedOption,
  type Restriction,
  restrictOptions,
  SERVER_DEFAULTS,
} from "../server-config.js";
import { OUTPUT_FIELDS } from "../output-options.js";
import { flattenIssues, option, type PathIssue, strictObject, ZOD_CONTEXT } from "../parse-options.js";
import { parseServer } from "../parse-server.js";
import type { COMMON_FIELDS, ServerDefinition } from "../server-definition.js";
import { CONFIG_FORMATS, type ConfigFolders, type ConfigFormat } from "./config-locations.js";
import type { ConfigProblem, ConfigProblemKind } from "./config-options.js";
import { VariableExpander, type VariableScope } from "./expand-variables.js";
import type { ConfigEntry, ConfigFile } from "./parse-document.js";

/** A problem of a server, and its path in the entry. */
export interface ServerProblem extends PathIssue {
  readonly kind: Extract<ConfigProblemKind, "unset-variable" | "bad-definition" | "restricted-option">;
}

/** The result of reading an entry: one of `ready`, `disabledReason` and `problems` is set. */
interface ReadServer {
  readonly variables: readonly string[];
  readonly ignored: readonly string[];
  /** Where the server is, without credentials; `undefined` if it is not known. */
  readonly address?: string | undefined;
  /** Whether its definition restricts tools, also if it is not valid. */
  readonly hasToolRules?: boolean;
  /** The valid server. */
  readonly ready?: ReadyServer;
  /** Why the server is disabled. It is not validated then. */
  readonly disabledReason?: string | undefined;
  readonly problems?: readonly ServerProblem[];
  /** The options that its file may not set. The valid server has their limits, or is without them. */
  readonly restricted?: readonly ServerProblem[];
}

export interface ReadyServer {
  readonly definition: ServerDefinition;
  /** Equal for the same server under two names. */
  readonly endpoint: string;
}

interface ReadContext {
  /** The file of the entry. */
  readonly file: ConfigFile;
  readonly folders: ConfigFolders;
  /** Reads a file as text, or returns the problem. */
  readonly readText: (file: string) => Promise<string | ConfigProblem>;
  /** Why the server is disabled by settings outside of its file. */
  readonly disabledReason: string | undefined;
}

/** Would break a line or a table that shows a name. */
const LINE_BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]/g;

function isReadable(text: string): boolean {
  return !hasHiddenCharacters(text) && text.search(LINE_BREAKS) === -1;
}

/** Returns a text without hidden characters and line breaks. A valid name stays as it is. */
export function toReadable(text: string): string {
  return isReadable(text) ? text : stripHiddenCharacters(text).replaceAll(LINE_BREAKS, " ");
}

/**
 * Converts an entry of a config file to a server definition: translates it, expands variables and validates
 * it.
 */
export async function readServerEntry(
  { name, value, disabledBy }: ConfigEntry,
  context: ReadContext,
): Promise<ReadServer> {
  const hasInvalidName = name.trim() === "" || !isReadable(name) || name === "__proto__";
  if (hasInvalidName || !isPlainObject(value)) {
    const message = hasInvalidName
      ? "has an invalid name: use letters and digits"
      : `expected an object, got ${describeValue(value)}`;
    const { disabledReason } = context;
    return { variables: [], ignored: [], disabledReason, problems: [badDefinition([], message)] };
  }
  const { scope, format } = context.file.source;
  const { entry, restricted } =
    scope === "project" ? restrictEntry(value, CONFIG_FORMATS[format]) : { entry: value, restricted: [] };
  const translated = translateEntry(entry, context.file.source);
  const { problems, sourceKeys } = translated;
  const ignored = [...translated.ignored, ...restricted.map(({ path }) => formatPath(path))];
  const ownReason =
    disabledBy === undefined ? translated.disabledReason : `its file excludes it by ${disabledBy}`;
  const disabledReason = ownReason ?? context.disabledReason;
  const expander = new VariableExpander(createScope(context));
  const connection = expander.expand(translated.connection, []) as JsonObject;
  const found = { ignored, address: toAddressKey(connection), hasToolRules: hasToolRules(translated) };
  if (disabledReason !== undefined) return { ...found, variables: [], disabledReason };
  const result =
    problems.length > 0
      ? problems
      : await resolveDefinition(name, { ...translated, connection }, expander, context);
  const isCommand = connection["command"] !== undefined;
  // A command that runs on this machine can read its paths anyway.
  const variables = [...expander.variables].filter(
    (variable) => !isCommand || !variable.startsWith("predefined:"),
  );
  if ("definition" in result)
    return { ...found, variables, ready: result, restricted: restricted.map(toRestrictedProblem) };
  return { ...found, variables, problems: result.map((problem) => withSourcePath(problem, sourceKeys)) };
}

/** Validates a definition with expanded variables. */
async function resolveDefinition(
  name: string,
  { connection, options }: TranslatedEntry,
  expander: VariableExpander,
  context: ReadContext,
): Promise<ReadyServer | ServerProblem[]> {
  if (expander.problems.length > 0)
    return expander.problems.map((problem) => ({ ...problem, kind: "unset-variable" }));
  const resolved = await resolveProgramPaths(connection, context);
  if (Array.isArray(resolved)) return resolved;
  const secrets = withSecrets(options["secrets"], expander);
  const definition = { ...resolved, ...options, ...secrets } as unknown as ServerDefinition;
  try {
    return { definition, endpoint: toEndpointKey(name, definition) };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const redactor = new Redactor(expander.secrets);
    return error.issues.map(({ path, message }) => {
      const segments = (parseJsonPath(path) ?? []).filter((segment) => typeof segment !== "symbol");
      return badDefinition(segments, redactor.redact(message));
    });
  }
}

/** Replaces the path of a problem by that in the file, where keys may have other names. */
function withSourcePath(problem: ServerProblem, sourceKeys: TranslatedEntry["sourceKeys"]): ServerProblem {
  const [first = "", ...rest] = problem.path;
  const sourcePath = sourceKeys.get(first);
  return sourcePath === undefined ? problem : { ...problem, path: [...sourcePath, ...rest] };
}

function createScope({ file, folders }: ReadContext): VariableScope {
  const separator = folders.platform === "win32" ? "\\" : "/";
  const predefined = new Map([
    ["workspaceFolder", file.folder],
    ["workspaceFolderBasename", basename(file.folder)],
    ["userHome", folders.home],
    ["cwd", folders.project],
    ["pathSeparator", separator],
    ["/", separator],
  ]);
  const { hasBareVariables } = CONFIG_FORMATS[file.source.format];
  return { env: folders.env, predefined, inputs: file.document.inputs, hasBareVariables };
}

/** Secret variables may be expanded anywhere, such as in a path or an argument. */
function withSecrets(ownSecrets: unknown, { secrets }: VariableExpander): JsonObject {
  if (secrets.size === 0 || (ownSecrets !== undefined && !Array.isArray(ownSecrets))) return {};
  return { secrets: [...(ownSecrets ?? []), ...secrets] };
}

function badDefinition(path: readonly PropertyKey[], message: string): ServerProblem {
  return { kind: "bad-definition", path, message };
}

/**
 * Detects the same server under two names: a hash of its address and credentials, since other credentials may
 * belong to another account. Throws kind `invalid-config`.
 */
function toEndpointKey(name: string, definition: ServerDefinition): string {
  const { address } = parseServer(name, definition);
  if ("url" in address) {
    const headers = Object.entries(address.headers).map(([key, value]) => [key.toLowerCase(), value]);
    const { protocol, username, password, search } = address.url;
    // The transport is not part of the key: a URL serves either HTTP or SSE.
    const url = [protocol, username, password, toLocation(address.url), search];
    return fullHash([url, Object.fromEntries(headers), address.auth]);
  }
  if (address.kind !== "stdio") return fullHash(address);
  const { command, args, env, cwd } = address;
  return fullHash([command, args, env, cwd]);
}

/**
 * Equal for definitions that may lead to the same server, whatever their credentials are: the host, port and
 * path of the URL, the command line, or the name of the function.
 */
function toAddressKey({ url, command, args = [], functionName }: JsonObject): string | undefined {
  if (typeof url === "string" && URL.canParse(url)) return toLocation(new URL(url));
  if (typeof command === "string" && isStringArray(args)) return JSON.stringify([command, ...args]);
  // Without the rest of an ARN, and without a version or an alias.
  return typeof functionName === "string" ? functionName.replaceAll(/^.*:function:|:[^:]*$/g, "") : undefined;
}

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])(?=:|$)/;

/** The host, port and path of a URL, equal for most spellings of one address. */
function toLocation({ host, pathname }: URL): string {
  const path = tryDecodeURIComponent(pathname).replaceAll(/\/+(?=\/|$)/g, "");
  return host.replace(/\.(?=:|$)/, "").replace(LOOPBACK_HOST, "localhost") + path;
}

const NETWORK_PATH = /^[\\/]{2}/;

/**
 * Resolves `cwd`, which defaults to the folder of the project, and reads the variables of `envFile`. Those of
 * `env` take precedence.
 */
async function resolveProgramPaths(
  { envFile, ...connection }: JsonObject,
  { file: { folder, source }, readText }: ReadContext,
): Promise<JsonObject | ServerProblem[]> {
  if (connection["command"] === undefined) return connection;
  const { cwd = ".", env } = connection;
  const resolved = { ...connection, cwd: typeof cwd === "string" ? resolve(folder, cwd) : cwd };
  if (envFile === undefined) return resolved;
  if (typeof envFile !== "string") return [badDefinition(["envFile"], "expected a file path")];
  // Windows would log in to the computer that the path names.
  if (source.scope === "project" && NETWORK_PATH.test(envFile))
    return [badDefinition(["envFile"], "is on another computer, which a project file may not read from")];
  const text = await readText(resolve(folder, envFile));
  if (typeof text !== "string") return [badDefinition(["envFile"], text.message)];
  // An invalid `env` is rejected by the validation that follows.
  const variables = env === undefined || isPlainObject(env) ? { ...parseEnv(text), ...env } : env;
  return { ...resolved, env: variables };
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

type TranslatedEntry = ReturnType<typeof translateEntry>;

/**
 * Removes or limits the options that a project file may not set, because it may be written by others: it can
 * only narrow what the operator allows.
 */
function restrictEntry(
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

function toRestrictedProblem({ path, limit }: RestrictedOption): ServerProblem {
  const effect = limit === undefined ? "is ignored" : `is reduced to ${limit}`;
  const message = `${effect}, because project files can only narrow what your program allows: set it in code or in a file of your own`;
  return { kind: "restricted-option", path, message };
}

/** Translates an entry in the format of any client to a server definition, before variables are expanded. */
function translateEntry(entry: JsonObject, { format }: ConfigFile["source"]) {
  const rules: ConfigFormat = CONFIG_FORMATS[format];
  const ownOptions = Object.fromEntries(OPTION_KEYS.map((key) => [key, entry[key]]));
  const options: JsonObject = { ...ownOptions, ...toTimeouts(entry, rules), tools: toToolRules(entry) };
  const connection = omitUndefined({ ...toConnection(entry), ...toType(entry, rules) });
  const isKnownKey = (key: string) => KNOWN_KEYS.has(key) || Object.hasOwn(connection, key);
  const ignored = Object.keys(entry).filter((key) => !isKnownKey(key) || isOverridden(key, entry));
  // Some clients write keys of other transports: `"env": {}` next to a `url`.
  const irrelevantKeys = connection["command"] === undefined ? STDIO_KEYS : HTTP_KEYS;
  const irrelevant = Object.keys(connection).filter((key) => irrelevantKeys.has(key));
  return {
    connection: Object.fromEntries(Object.entries(connection).filter(([key]) => !irrelevantKeys.has(key))),
    options: omitUndefined(options),
    ignored: [...ignored, ...irrelevant],
    disabledReason: getDisabledReason(entry),
    problems: [...validateSettings(entry, rules), ...validateStrings(connection)],
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

/** Whether a definition restricts tools. An invalid list of tools counts as a restriction. */
function hasToolRules({ options, problems }: TranslatedEntry): boolean {
  return options["tools"] !== undefined || problems.some(({ path: [key] }) => TOOL_LISTS.has(key));
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
