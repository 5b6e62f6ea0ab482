import { basename, resolve } from "node:path";
import { parseEnv } from "node:util";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Redactor } from "../../errors/redaction.js";
import { hasHiddenCharacters, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { fullHash } from "../../json-schema/schema-hash.js";
import { describeValue, formatPath } from "../../json/describe-value.js";
import { parseJsonPath } from "../../json/json-path.js";
import { isPlainObject, isStringArray, type JsonObject, tryDecodeURIComponent } from "../../json/json.js";
import { parseServer } from "../parse-server.js";
import type { ServerDefinition } from "../server-definition.js";
import { CONFIG_FORMATS, type ConfigFolders } from "./config-locations.js";
import type { ConfigProblem } from "./config-options.js";
import { VariableExpander, type VariableScope } from "./expand-variables.js";
import type { ConfigEntry, ConfigFile } from "./parse-document.js";
import {
  badDefinition,
  restrictEntry,
  type ServerProblem,
  toRestrictedProblem,
  type TranslatedEntry,
  translateEntry,
} from "./translate-entry.js";

/** The result of reading an entry: `ready`, `disabledReason` or `problems` is set. */
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
  const found = { ignored, address: toAddressKey(connection), hasToolRules: translated.hasToolRules };
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
