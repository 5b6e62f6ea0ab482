import { homedir } from "node:os";
import { resolve } from "node:path";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject } from "../../json/json.js";
import type { ServerDefinition } from "../server-definition.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import type { ConfigFolders } from "./config-locations.js";
import type { ConfigSource } from "./config-source.js";

/** A valid server, as passed to `filter`. */
export interface ConfigCandidate {
  readonly name: string;
  readonly source: Omit<ConfigSource, "servers">;
  /** The definition with expanded variables. It may contain secrets. */
  readonly definition: ServerDefinition;
}

/** Options of `loadMcpServers`. */
export interface LoadMcpServersOptions {
  /**
   * Files to read, in order of precedence, before those of `project` and `user`.
   *
   * @default []
   */
  readonly files?: readonly string[];
  /**
   * Read the config files in the project folder.
   *
   * @default true
   */
  readonly project?: boolean;
  /**
   * Read the config files of the user's clients in the home folder.
   *
   * @default false
   */
  readonly user?: boolean;
  /**
   * The project folder.
   *
   * @default process.cwd()
   */
  readonly cwd?: string;
  /**
   * The home folder of the user.
   *
   * @default os.homedir()
   */
  readonly home?: string;
  /**
   * The values of variables in the files.
   *
   * @default process.env
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The values of inputs that VS Code would prompt for (`${input:id}`), by id. */
  readonly inputs?: Readonly<Record<string, string>>;
  /**
   * Load only servers with these names.
   *
   * @default all servers
   */
  readonly enabledServers?: readonly string[];
  /**
   * Do not load servers with these names. Takes precedence over `enabledServers`.
   *
   * @default []
   */
  readonly disabledServers?: readonly string[];
  /** Returns false for servers to skip, as if they were not in the file. Must be synchronous. */
  readonly filter?: (server: ConfigCandidate) => boolean;
  /** Aborts loading. */
  readonly signal?: AbortSignal;
}

/** The defaults of `loadMcpServers`. */
export const CONFIG_DEFAULTS = { project: true, user: false } as const;

/** `LoadMcpServersOptions` with all defaults filled in. */
export interface ConfigSettings {
  /** Absolute paths. */
  readonly files: readonly string[];
  readonly scopes: ReadonlySet<"project" | "user">;
  readonly folders: ConfigFolders;
  readonly inputs: Readonly<Record<string, string>>;
  readonly enabledServers: readonly string[] | undefined;
  readonly disabledServers: readonly string[];
  readonly filter: (server: ConfigCandidate) => boolean;
  readonly signal: AbortSignal | undefined;
}

/** Validates the options and fills in the defaults. Throws kind `invalid-config`. */
export function resolveConfigOptions(
  options: LoadMcpServersOptions,
  platform: NodeJS.Platform,
): ConfigSettings {
  const issues = validateOptions(options);
  if (issues.length > 0) throw configError("The call to loadMcpServers", issues);
  const { project = CONFIG_DEFAULTS.project, user = CONFIG_DEFAULTS.user } = options;
  const { files = [], cwd = process.cwd(), home = homedir(), env = process.env } = options;
  const folders = { project: resolve(cwd), home: resolve(home), env, platform };
  return {
    files: files.map((file) => resolve(folders.project, file)),
    scopes: new Set([...(project ? ["project" as const] : []), ...(user ? ["user" as const] : [])]),
    folders,
    inputs: options.inputs ?? {},
    enabledServers: options.enabledServers,
    disabledServers: options.disabledServers ?? [],
    filter: assertSynchronous(options.filter ?? (() => true)),
    signal: options.signal,
  };
}

/** A promise is truthy, so an asynchronous filter would let every server through. */
function assertSynchronous(
  filter: (server: ConfigCandidate) => unknown,
): (server: ConfigCandidate) => boolean {
  return (server) => {
    const decision = filter(server);
    if (!(decision instanceof Promise)) return Boolean(decision);
    decision.catch(() => undefined);
    const message = "expected true or false synchronously, got a promise";
    throw configError("The call to loadMcpServers", [{ path: "filter", message }]);
  };
}

type Check = readonly [expected: string, isValid: (value: unknown) => boolean];

const isString = (value: unknown) => typeof value === "string";
const STRING_ARRAY: Check = ["an array of strings", (value) => Array.isArray(value) && value.every(isString)];
const BOOLEAN: Check = ["true or false", (value) => typeof value === "boolean"];
const FOLDER: Check = ["a folder path", isString];
const isStringRecord = (value: unknown) => isPlainObject(value) && Object.values(value).every(isString);

const CHECKS: Readonly<Record<keyof LoadMcpServersOptions, Check>> = {
  files: STRING_ARRAY,
  project: BOOLEAN,
  user: BOOLEAN,
  cwd: FOLDER,
  home: FOLDER,
  env: ["an object of variables by name", (value) => typeof value === "object" && value !== null],
  inputs: ["an object of strings by id", isStringRecord],
  enabledServers: STRING_ARRAY,
  disabledServers: STRING_ARRAY,
  filter: ["a function", (value) => typeof value === "function"],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
};

function validateOptions(options: LoadMcpServersOptions): ConfigIssue[] {
  if (typeof options !== "object" || options === null)
    return [{ path: "", message: `expected an object with options, got ${describeValue(options)}` }];
  const allowed = Object.keys(CHECKS).join(", ");
  return Object.entries(options).flatMap(([path, value]: [string, unknown]) => {
    const check = Object.hasOwn(CHECKS, path) ? CHECKS[path as keyof typeof CHECKS] : undefined;
    if (check === undefined) return [{ path, message: `unknown option; valid options: ${allowed}` }];
    const [expected, isValid] = check;
    if (value === undefined || isValid(value)) return [];
    return [{ path, message: `expected ${expected}, got ${describeValue(value)}` }];
  });
}
