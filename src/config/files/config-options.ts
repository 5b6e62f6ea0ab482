import { homedir } from "node:os";
import { resolve } from "node:path";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject } from "../../json/json.js";
import type { ServerDefinition } from "../server-definition.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import type { ConfigFolders } from "./config-locations.js";
import type { ConfigSource } from "./config-source.js";

/** A server that could be taken, for `filter`. */
export interface ConfigCandidate {
  readonly name: string;
  readonly source: Omit<ConfigSource, "servers">;
  /** With its variables filled in: it may hold secrets. */
  readonly definition: ServerDefinition;
}

export interface LoadMcpServersOptions {
  /** Files to read; those of the first count most. */
  readonly files?: readonly string[];
  /** Also the files that clients look for in a project's folder. */
  readonly project?: boolean;
  /** Also those of the clients that this user has. */
  readonly user?: boolean;
  /** The project's folder; where this process is. */
  readonly cwd?: string;
  /** The user's folder. */
  readonly home?: string;
  /** Where variables come from; the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Answers to what VS Code would ask for (`${input:id}`), by id. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Only servers of these names. */
  readonly enabledServers?: readonly string[];
  /** No servers of these names, whatever `enabledServers` says. */
  readonly disabledServers?: readonly string[];
  /** A server for which it gives false is left out, as if it were not there. */
  readonly filter?: (server: ConfigCandidate) => boolean;
  readonly signal?: AbortSignal;
}

/** Every default of the loader, in one place. */
export const CONFIG_DEFAULTS = { project: true, user: false } as const;

export interface ConfigSettings {
  /** Whole paths. */
  readonly files: readonly string[];
  readonly scopes: ReadonlySet<"project" | "user">;
  readonly folders: ConfigFolders;
  readonly inputs: Readonly<Record<string, string>>;
  readonly enabledServers: readonly string[] | undefined;
  readonly disabledServers: readonly string[];
  readonly filter: (server: ConfigCandidate) => boolean;
  readonly signal: AbortSignal | undefined;
}

/** Throws kind `definition` for options that cannot be meant. */
export function resolveConfigOptions(
  options: LoadMcpServersOptions,
  platform: NodeJS.Platform,
): ConfigSettings {
  const issues = issuesOf(options);
  if (issues.length > 0) throw configError("What loadMcpServers was given", issues);
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
    filter: checked(options.filter ?? (() => true)),
    signal: options.signal,
  };
}

/** A promise is always true: whoever decides later would let everything in. */
function checked(filter: (server: ConfigCandidate) => unknown): (server: ConfigCandidate) => boolean {
  return (server) => {
    const said = filter(server);
    if (!(said instanceof Promise)) return Boolean(said);
    said.catch(() => undefined);
    const message = "expected true or false at once, got a promise";
    throw configError("What loadMcpServers was given", [{ path: "filter", message }]);
  };
}

type Check = readonly [expected: string, isRight: (value: unknown) => boolean];

const isText = (value: unknown) => typeof value === "string";
const NAMES: Check = ["a list of texts", (value) => Array.isArray(value) && value.every(isText)];
const SWITCH: Check = ["true or false", (value) => typeof value === "boolean"];
const FOLDER: Check = ["the path of a folder", isText];
const TEXTS = (value: unknown) => isPlainObject(value) && Object.values(value).every(isText);

const CHECKS: Readonly<Record<keyof LoadMcpServersOptions, Check>> = {
  files: NAMES,
  project: SWITCH,
  user: SWITCH,
  cwd: FOLDER,
  home: FOLDER,
  env: ["variables by name", (value) => typeof value === "object" && value !== null],
  inputs: ["texts by id", TEXTS],
  enabledServers: NAMES,
  disabledServers: NAMES,
  filter: ["a function", (value) => typeof value === "function"],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
};

function issuesOf(options: LoadMcpServersOptions): ConfigIssue[] {
  if (typeof options !== "object" || options === null)
    return [{ path: "", message: `expected an object with options, found ${describeValue(options)}` }];
  const allowed = Object.keys(CHECKS).join(", ");
  return Object.entries(options).flatMap(([path, value]: [string, unknown]) => {
    const check = Object.hasOwn(CHECKS, path) ? CHECKS[path as keyof typeof CHECKS] : undefined;
    if (check === undefined) return [{ path, message: `is no option; options are ${allowed}` }];
    const [expected, isRight] = check;
    if (value === undefined || isRight(value)) return [];
    return [{ path, message: `expected ${expected}, found ${describeValue(value)}` }];
  });
}
