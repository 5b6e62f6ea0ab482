import { homedir } from "node:os";
import { resolve } from "node:path";
import { configError } from "../../errors/mcp-runtime-error.js";
import { describeValue } from "../../json/describe-value.js";
import { ignoreRejection, isPlainObject, isPromiseLike, isStringArray } from "../../json/json.js";
import { option, type OptionsOf, optionsSchema, parseOptions } from "../parse-options.js";
import type { ServerDefinition } from "../server-definition.js";
import type { ConfigFormatName, ConfigScope } from "./config-locations.js";

/** A valid server, as passed to `filter`. */
export interface ConfigCandidate {
  /** The key of the server in its file. */
  readonly name: string;
  /** The file that defines the server, and how far that file is trusted. */
  readonly source: Omit<ConfigSource, "servers">;
  /** The definition with expanded variables. It may contain secrets. */
  readonly definition: ServerDefinition;
}

const folderOption = option.opaque<string>("a folder path", isString);
const namesOption = option.opaque<readonly string[]>("an array of strings", isStringArray);

const LOAD_FIELDS = {
  /**
   * Files to read, in order of precedence, before those of `project` and `user`.
   *
   * @default []
   */
  files: namesOption,
  /**
   * Read the config files in the project folder. They may be written by others, so they can only narrow what
   * your program allows: `requireApproval: false`, `durable: false`, `idempotent`, `args`, `description`,
   * `trustAnnotations`, `descriptions` and an `inputValidation` other than "error" are ignored, and limits,
   * timeouts, retries and delays above the defaults are reduced (one request may take as long as a call);
   * each is reported as `restricted-option`. They work in `files`, in user files and in code.
   *
   * @default true
   */
  project: option.boolean,
  /**
   * Read the config files of the user's clients in the home folder.
   *
   * @default false
   */
  user: option.boolean,
  /**
   * The project folder.
   *
   * @default process.cwd()
   */
  cwd: folderOption,
  /**
   * The home folder of the user.
   *
   * @default os.homedir()
   */
  home: folderOption,
  /**
   * The values of variables in the files.
   *
   * @default process.env
   */
  env: option.opaque<Readonly<Record<string, string | undefined>>>(
    "an object of variables by name",
    (value) => typeof value === "object" && value !== null,
  ),
  /**
   * The values of inputs that VS Code would prompt for (`${input:id}`), by id.
   *
   * @default {}
   */
  inputs: option.opaque<Readonly<Record<string, string>>>(
    "an object of strings by id",
    (value) => isPlainObject(value) && Object.values(value).every(isString),
  ),
  /**
   * Load only servers with these names.
   *
   * @default all servers
   */
  enabledServers: namesOption,
  /**
   * Do not load servers with these names. Takes precedence over `enabledServers`.
   *
   * @default []
   */
  disabledServers: namesOption,
  /**
   * Returns true for servers to load, and false for those to skip, as if they were not in the file. A promise
   * or any other value is an error.
   *
   * @default all servers are loaded
   */
  filter: option.function<(server: ConfigCandidate) => boolean>(),
  /**
   * Aborts loading.
   *
   * @default none
   */
  signal: option.opaque<AbortSignal>("an AbortSignal", (value) => value instanceof AbortSignal),
};

/** Options of `loadMcpServers`. */
export interface LoadMcpServersOptions extends OptionsOf<typeof LOAD_FIELDS> {}

/** The defaults of `loadMcpServers`. */
export const CONFIG_DEFAULTS = { project: true, user: false } as const;

/** `LoadMcpServersOptions` with all defaults filled in. Paths are absolute. */
export type ConfigSettings = ReturnType<typeof resolveConfigOptions>;

const SUBJECT = "The call to loadMcpServers";

const OPTIONS_SCHEMA = optionsSchema<LoadMcpServersOptions>(LOAD_FIELDS, {
  expected: 'an object such as { files: [".mcp.json"] }',
});

function isString(value: unknown): boolean {
  return typeof value === "string";
}

/** Validates the options and fills in the defaults. Throws kind `invalid-config`. */
export function resolveConfigOptions(options: LoadMcpServersOptions, platform: NodeJS.Platform) {
  const parsed = parseOptions(OPTIONS_SCHEMA, options, { subject: SUBJECT });
  const { project = CONFIG_DEFAULTS.project, user = CONFIG_DEFAULTS.user } = parsed;
  const { files = [], cwd = process.cwd(), home = homedir(), env = process.env } = parsed;
  const folders = { project: resolve(cwd), home: resolve(home), env, platform };
  return {
    files: files.map((file) => resolve(folders.project, file)),
    scopes: new Set([...(project ? ["project" as const] : []), ...(user ? ["user" as const] : [])]),
    folders,
    inputs: parsed.inputs ?? {},
    enabledServers: parsed.enabledServers,
    disabledServers: parsed.disabledServers ?? [],
    filter: toStrictFilter(parsed.filter ?? (() => true)),
    signal: parsed.signal,
  };
}

/**
 * Only `true` loads a server. Another value than a boolean, such as a promise, would otherwise count as true.
 */
function toStrictFilter(filter: (server: ConfigCandidate) => unknown): (server: ConfigCandidate) => boolean {
  return (server) => {
    const decision = filter(server);
    if (typeof decision === "boolean") return decision;
    const isPromise = isPromiseLike(decision);
    if (isPromise) ignoreRejection(decision);
    const received = isPromise ? "a promise: a filter cannot be asynchronous" : describeValue(decision);
    const message = `expected true or false for server ${JSON.stringify(server.name)}, got ${received}`;
    throw configError(SUBJECT, [{ path: "filter", message }]);
  };
}

/**
 * The state of a server in a file.
 * - `loaded`: one of `servers`
 * - `shadowed`: its name or its endpoint is already defined in a file with precedence
 * - `disabled`: disabled in a file, or by `enabledServers` and `disabledServers`
 * - `filtered`: rejected by `filter`
 * - `broken`: invalid, or a project file may not define it; see `problems`
 */
export type ConfigServerState = "loaded" | "shadowed" | "disabled" | "filtered" | "broken";

/** A server in a config file. */
export interface ConfigServer {
  /** The key of the server in the file, without invisible characters. */
  readonly name: string;
  /** Whether the server was loaded, and otherwise what prevented it. */
  readonly state: ConfigServerState;
  /** Why it was not loaded, for people. */
  readonly reason?: string;
  /**
   * What its definition takes from the user: environment variables by name, inputs as `input:id` and, unless
   * it is a command, predefined variables that contain a path of this machine as `predefined:userHome`.
   */
  readonly variables: readonly string[];
  /**
   * Its keys that have no effect, and the paths of options that a project file may not set:
   * `tools.pay.requireApproval`.
   */
  readonly ignored: readonly string[];
}

/** A config file and its servers. */
export interface ConfigSource {
  /** The absolute path. */
  readonly file: string;
  /** Whether the file was passed in `files` or found in the project or home folder. */
  readonly scope: ConfigScope;
  /** The client whose format the file has, detected by its path and content. */
  readonly format: ConfigFormatName;
  /** All servers of the file in its order, including those that were not loaded. */
  readonly servers: readonly ConfigServer[];
}

/**
 * The kind of a problem with a config file or a server in it.
 * - `missing-file`: an explicitly passed file does not exist
 * - `unreadable`: not a regular file, not readable, or too large
 * - `broken-json`: not valid JSON, even with comments and trailing commas allowed
 * - `unknown-format`: JSON without servers
 * - `unset-variable`: a server needs a variable or an input that has no value
 * - `bad-definition`: a server is invalid
 * - `restricted-option`: a project file sets an option that only the operator may set, which is ignored or
 *   reduced, or defines a server that a file of the operator restricts or disables, which is not loaded
 * - `unknown-server`: no file defines a server that `enabledServers` lists
 */
export type ConfigProblemKind =
  | "missing-file"
  | "unreadable"
  | "broken-json"
  | "unknown-format"
  | "unset-variable"
  | "bad-definition"
  | "restricted-option"
  | "unknown-server";

/** A problem with one file or one server. Contains no values of the file, which may be secret. */
export interface ConfigProblem {
  /** What is wrong, for programs. */
  readonly kind: ConfigProblemKind;
  /** What is wrong and how to fix it. */
  readonly message: string;
  /** The file; missing for `unknown-server`. */
  readonly file?: string;
  /** The name of the server; missing for a problem of the whole file. */
  readonly server?: string;
  /** The line, starting at 1. */
  readonly line?: number;
  /** The column, starting at 1. */
  readonly column?: number;
  /** The path in the document: `mcpServers.github.headers`. */
  readonly path?: string;
}

/** The result of `loadMcpServers`. */
export interface LoadedMcpServers {
  /** The servers by name, in order of precedence. Can be passed to `createMcpTools`. */
  readonly servers: Record<string, ServerDefinition>;
  /** Problems of files and servers. None of them prevents the other servers from being loaded. */
  readonly problems: readonly ConfigProblem[];
  /** Every file that was read, in order of precedence, with the state of each of its servers. */
  readonly sources: readonly ConfigSource[];
}
