import { basename, resolve } from "node:path";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { parseJsonPath } from "../../json/json-path.js";
import type { ServerDefinition } from "../server-definition.js";
import { type ConfigIssue, McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Redactor } from "../../errors/redaction.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import type { ConfigEntry } from "./parse-document.js";
import { CONFIG_FORMATS } from "./config-formats.js";
import type { ConfigFolders } from "./config-locations.js";
import type { ConfigProblemKind, ConfigFile, ConfigProblem } from "./config-source.js";
import { VariableExpander, type VariableScope } from "./expand-variables.js";
import { toDefinition, type TranslatedEntry } from "./to-definition.js";
import { parseServer } from "../parse-server.js";
import { parseEnv } from "node:util";

/** A problem of a server, and its path in the entry. */
export interface ServerProblem {
  readonly kind: Extract<ConfigProblemKind, "unset-variable" | "bad-definition">;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * The result of reading an entry.
 * - `ready`: valid
 * - `disabled`: disabled, and not validated
 * - `broken`: invalid
 */
export type ReadServer = {
  readonly variables: readonly string[];
  readonly ignored: readonly string[];
} & (
  | { readonly state: "ready"; readonly definition: ServerDefinition; readonly endpoint: string }
  | { readonly state: "disabled"; readonly reason: string }
  | { readonly state: "broken"; readonly problems: readonly ServerProblem[] }
);

interface ReadServerOptions {
  readonly file: ConfigFile;
  readonly folders: ConfigFolders;
  readonly readText: ReadText;
}

/**
 * Converts an entry of a config file to a server definition: translates it, expands variables and validates
 * it.
 */
export async function readServer(
  { name, value, disabledBy }: ConfigEntry,
  options: ReadServerOptions,
): Promise<ReadServer> {
  const problem = describeEntryProblem(name, value);
  if (problem !== undefined || !isPlainObject(value))
    return { variables: [], ignored: [], ...toBroken([{ path: "", message: problem ?? "" }]) };
  const {
    connection,
    options: serverOptions,
    ignored,
    disabledReason,
    issues,
    sourceKeys,
  } = toDefinition(value, options.file);
  const base = { variables: [], ignored };
  const reason = disabledBy === undefined ? disabledReason : `its file excludes it by ${disabledBy}`;
  if (reason !== undefined) return { ...base, state: "disabled", reason };
  if (issues.length > 0) return withSourceKeys({ ...base, ...toBroken(issues) }, sourceKeys);
  const expander = new VariableExpander(createScope(options));
  const expanded = expander.expand(connection, []) as JsonObject;
  const variables = [...expander.variables];
  if (expander.problems.length > 0) {
    const problems = expander.problems.map((variableProblem) => ({
      ...variableProblem,
      kind: "unset-variable" as const,
    }));
    return withSourceKeys({ ...base, variables, state: "broken", problems }, sourceKeys);
  }
  const resolved = await resolveProgramPaths(expanded, options.file.folder, options.readText);
  if ("issue" in resolved) return { ...base, variables, ...toBroken([resolved.issue]) };
  const definition = {
    ...resolved.connection,
    ...serverOptions,
    ...withSecrets(serverOptions["secrets"], expander),
  };
  const read = {
    ...base,
    variables,
    ...validateDefinition(name, definition, new Redactor(expander.secrets)),
  };
  return withSourceKeys(read, sourceKeys);
}

/** Replaces the paths of problems by those in the file, where keys may have other names. */
function withSourceKeys(read: ReadServer, sourceKeys: TranslatedEntry["sourceKeys"]): ReadServer {
  if (read.state !== "broken") return read;
  const problems = read.problems.map((problem) => {
    const [first, ...rest] = problem.path;
    const sourcePath = first === undefined ? undefined : sourceKeys.get(first);
    return sourcePath === undefined ? problem : { ...problem, path: [...sourcePath, ...rest] };
  });
  return { ...read, problems };
}

function describeEntryProblem(name: string, value: unknown): string | undefined {
  if (name.trim() === "" || stripHiddenCharacters(name) !== name || name === "__proto__")
    return "has an invalid name: use letters and digits";
  return isPlainObject(value) ? undefined : `expected an object, got ${describeValue(value)}`;
}

function createScope({ file, folders }: ReadServerOptions): VariableScope {
  const predefined = new Map([
    ["workspaceFolder", file.folder],
    ["workspaceFolderBasename", basename(file.folder)],
    ["userHome", folders.home],
    ["cwd", folders.project],
    ["pathSeparator", folders.platform === "win32" ? "\\" : "/"],
    ["/", folders.platform === "win32" ? "\\" : "/"],
  ]);
  const { hasBareVariables } = CONFIG_FORMATS[file.format];
  return { env: folders.env, predefined, inputs: file.document.inputs, hasBareVariables };
}

/** Secret variables may be expanded anywhere, such as in a path or an argument. */
function withSecrets(ownSecrets: unknown, { secrets }: VariableExpander): JsonObject {
  if (secrets.size === 0 || (ownSecrets !== undefined && !Array.isArray(ownSecrets))) return {};
  return { secrets: [...(ownSecrets ?? []), ...secrets] };
}

type ValidatedServer =
  | { readonly state: "ready"; readonly definition: ServerDefinition; readonly endpoint: string }
  | ReturnType<typeof toBroken>;

function validateDefinition(name: string, definition: JsonObject, redactor: Redactor): ValidatedServer {
  const candidate = definition as unknown as ServerDefinition;
  try {
    return { state: "ready", definition: candidate, endpoint: endpointKey(name, candidate) };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return toBroken(error.issues.map(({ path, message }) => ({ path, message: redactor.redact(message) })));
  }
}

function toBroken(issues: readonly ConfigIssue[]) {
  const problems = issues.map(({ path, message }): ServerProblem => {
    const segments = (parseJsonPath(path) ?? []).filter((segment) => typeof segment !== "symbol");
    return { kind: "bad-definition", path: segments, message };
  });
  return { state: "broken" as const, problems };
}

/**
 * Detects the same server under two names: a key of its address and credentials, since other credentials may
 * belong to another account. Keep it in memory only: it contains secrets. Throws kind `invalid-config`.
 */
function endpointKey(name: string, definition: ServerDefinition): string {
  const { address } = parseServer(name, definition);
  if ("url" in address) {
    const headers = Object.entries(address.headers).map(([key, value]) => [key.toLowerCase(), value]);
    // The transport is not part of the key: a URL serves either HTTP or SSE.
    return JSON.stringify([address.url.href, sortedCopy(headers), sortKeys(address.auth)]);
  }
  if (address.kind !== "stdio") return JSON.stringify(address);
  const { command, args, env, cwd } = address;
  return JSON.stringify([command, args, sortedCopy(Object.entries(env)), cwd]);
}

/** Makes the key independent of the order of properties. */
function sortKeys(value: unknown): unknown {
  if (value instanceof URL) return value.href;
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sortKeys(inner)]);
}

function sortedCopy(entries: string[][]): string[][] {
  return entries.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}

/** Reads a file as text, or returns the problem. */
type ReadText = (file: string) => Promise<string | ConfigProblem>;

/**
 * Resolves `cwd`, which defaults to the folder of the project, and reads the variables of `envFile`. Those of
 * `env` take precedence.
 */
async function resolveProgramPaths(
  { envFile, ...connection }: JsonObject,
  folder: string,
  readText: ReadText,
): Promise<{ readonly connection: JsonObject } | { readonly issue: ConfigIssue }> {
  if (connection["command"] === undefined) return { connection };
  const { cwd, env } = connection;
  const withCwd = {
    ...connection,
    ...(typeof cwd === "string" || cwd === undefined ? resolveCwd(folder, cwd) : {}),
  };
  if (envFile === undefined) return { connection: withCwd };
  if (typeof envFile !== "string") return { issue: { path: "envFile", message: "expected a file path" } };
  const text = await readText(resolve(folder, envFile));
  if (typeof text !== "string") return { issue: { path: "envFile", message: text.message } };
  // An invalid `env` is rejected by the validation that follows.
  const variables = env === undefined || isPlainObject(env) ? { ...parseEnv(text), ...env } : env;
  return { connection: { ...withCwd, env: variables } };
}

function resolveCwd(folder: string, cwd = "."): JsonObject {
  return { cwd: resolve(folder, cwd) };
}
