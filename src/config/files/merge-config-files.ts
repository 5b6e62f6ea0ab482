import { basename } from "node:path";
import { withSignal } from "../../async/cancel-scope.js";
import { formatPath } from "../../json/describe-value.js";
import { getAtPath } from "../../json/json-path.js";
import { isPlainObject } from "../../json/json.js";
import { withAddressOrigin, withConfigFile } from "../address-policy.js";
import type { ServerDefinition } from "../server-definition.js";
import { CONFIG_FORMATS, CONFIG_LOCATIONS, detectFormat, resolveLocation } from "./config-locations.js";
import type {
  ConfigProblem,
  ConfigServer,
  ConfigSettings,
  ConfigSource,
  LoadedMcpServers,
} from "./config-options.js";
import {
  ConfigReader,
  createLocator,
  MAX_FOREIGN_FILE_BYTES,
  type OpenFileFunction,
} from "./config-reader.js";
import {
  collectNames,
  type ConfigEntry,
  type ConfigFile,
  findProjectPaths,
  parseDocument,
} from "./parse-document.js";
import { readServerEntry, type ServerProblem, toReadable } from "./read-server-entry.js";

/** More than any real file has. */
const MAX_SERVERS = 1_000;
const NO_TOML = 'TOML is not supported: write the servers as JSON, { "mcpServers": { name: definition } }.';

type ConfigOrigin = ConfigFile["source"] & Pick<ConfigFile, "folder">;

export function mergeConfigFiles(
  settings: ConfigSettings,
  openFile: OpenFileFunction,
): Promise<LoadedMcpServers> {
  return withSignal(settings.signal, async (scope) => {
    const reader = new ConfigReader(openFile, scope);
    const [results, { rejections, problems }] = await Promise.all([
      Promise.all(collectOrigins(settings).map((origin) => readFile(origin, reader, settings))),
      readClaudeRejections(reader, settings),
    ]);
    const merger = new ServerMerger(settings, reader, rejections);
    const fileProblems: ConfigProblem[] = [];
    for (const result of results) {
      if (result === undefined) continue;
      if ("kind" in result) fileProblems.push(result);
      else await merger.add(result);
    }
    return merger.toResult([...fileProblems, ...problems]);
  });
}

/** The files to read, in order of precedence and without duplicates. */
function collectOrigins({ files, scopes, folders }: ConfigSettings): ConfigOrigin[] {
  const explicit = files.map((file) => ({ file, scope: "given" as const, ...detectFormat(file) }));
  const discovered = CONFIG_LOCATIONS.filter(({ scope }) => scopes.has(scope)).map((location) => ({
    file: resolveLocation(location, folders),
    scope: location.scope,
    format: location.format,
    folder: folders.project,
  }));
  const byPath = new Map<string, ConfigOrigin>();
  for (const origin of [...explicit, ...discovered])
    if (!byPath.has(origin.file)) byPath.set(origin.file, origin);
  return [...byPath.values()];
}

/** Returns `undefined` for a missing file, unless it was passed explicitly: then that is a problem. */
async function readFile(
  { file, scope, format: expectedFormat, folder }: ConfigOrigin,
  reader: ConfigReader,
  settings: ConfigSettings,
): Promise<ConfigFile | ConfigProblem | undefined> {
  if (/\.toml$/i.test(file)) return { kind: "unknown-format", file, message: NO_TOML };
  const read = await reader.read(file, scope === "project" ? MAX_FOREIGN_FILE_BYTES : undefined);
  if ("kind" in read) return read.kind === "missing-file" && scope !== "given" ? undefined : read;
  const { text, value } = read;
  // The name of an explicitly passed file may not reveal the format.
  const isZed = scope === "given" && isPlainObject(value) && "context_servers" in value;
  const format = expectedFormat === "mcp-json" && isZed ? "zed" : expectedFormat;
  const document = parseDocument(value, format, settings);
  if (document === undefined) {
    const { client, keys } = CONFIG_FORMATS[format];
    const key = keys.map((name) => `"${name}"`).join(" or ");
    const message = `The file has no servers in the format of ${client}: expected an object with ${key}, which holds the servers by name.`;
    return { kind: "unknown-format", file, message };
  }
  if (document.entries.length > MAX_SERVERS)
    return { kind: "unreadable", file, message: `The file has more than ${MAX_SERVERS} servers.` };
  return { source: { file, scope, format }, folder, text, document };
}

const REJECTION_LOCATIONS: readonly { readonly scope: "project" | "user"; readonly path: string }[] = [
  { scope: "project", path: "{project}/.claude/settings.local.json" },
  { scope: "project", path: "{project}/.claude/settings.json" },
  { scope: "user", path: "{home}/.claude/settings.json" },
  { scope: "user", path: "{claude}/.claude.json" },
];

/**
 * Reads which servers of a project's `.mcp.json` the user rejected in Claude Code, with the file of the
 * rejection. The counterpart, `enabledMcpjsonServers`, is ignored: that consent was given to Claude Code only.
 */
async function readClaudeRejections(reader: ConfigReader, { folders, scopes }: ConfigSettings) {
  const rejections = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  const locations = REJECTION_LOCATIONS.filter(({ scope }) => scopes.has(scope));
  const files = locations.map((location) => resolveLocation(location, folders));
  // Problems of these are reported where their servers are read.
  const configFiles = new Set(CONFIG_LOCATIONS.map((location) => resolveLocation(location, folders)));
  for (const [index, read] of (await Promise.all(files.map((file) => reader.read(file)))).entries()) {
    const file = files[index] ?? "";
    if (!("kind" in read)) {
      for (const name of collectRejected(read.value, folders.project))
        if (!rejections.has(name)) rejections.set(name, file);
    } else if (read.kind !== "missing-file" && !configFiles.has(file)) problems.push(read);
  }
  return { rejections, problems };
}

function collectRejected(document: unknown, project: string): string[] {
  if (!isPlainObject(document)) return [];
  const ofProject = findProjectPaths(document, project).flatMap((path) => [
    ...collectNames(getAtPath(document, [...path, "disabledMcpjsonServers"])),
    ...collectNames(getAtPath(document, [...path, "disabledMcpServers"])),
  ]);
  return [...collectNames(document["disabledMcpjsonServers"]), ...ofProject];
}

type MergedEntry = ConfigServer & { readonly problems?: readonly ServerProblem[] };

/** Limits for hostile files, such as one with a million invalid arguments. */
const MAX_PROBLEMS_PER_SERVER = 10;
const MAX_PROBLEMS_PER_FILE = 100;

/**
 * Merges the servers of several files. The first definition of a name takes precedence, even when it is
 * disabled or invalid, so that another server of the same name does not replace it.
 */
class ServerMerger {
  readonly #settings: ConfigSettings;
  readonly #reader: ConfigReader;
  readonly #rejections: ReadonlyMap<string, string>;
  /** The file that defines each name first. */
  readonly #files = new Map<string, string>();
  /** The name that defines each endpoint first. */
  readonly #endpoints = new Map<string, string>();
  readonly #servers = new Map<string, ServerDefinition>();
  /** The loaded servers of project files, by name, in the list of their file. */
  readonly #projectServers = new Map<string, { readonly list: ConfigServer[]; readonly index: number }>();
  readonly #problems: ConfigProblem[] = [];
  readonly #sources: ConfigSource[] = [];

  constructor(settings: ConfigSettings, reader: ConfigReader, rejections: ReadonlyMap<string, string>) {
    this.#settings = settings;
    this.#reader = reader;
    this.#rejections = rejections;
  }

  /** Adds the servers of a file. Call it in order of precedence. */
  async add(file: ConfigFile): Promise<void> {
    const servers: ConfigServer[] = [];
    const serverProblems: (readonly [ConfigEntry, ServerProblem])[] = [];
    for (const entry of file.document.entries) {
      const { problems = [], ...server } = await this.#addEntry(entry, file);
      servers.push(sanitizeNames(server));
      if (server.state === "loaded" && file.source.scope === "project")
        this.#projectServers.set(entry.name, { list: servers, index: servers.length - 1 });
      for (const problem of problems.slice(0, MAX_PROBLEMS_PER_SERVER)) serverProblems.push([entry, problem]);
    }
    this.#sources.push({ ...file.source, servers });
    if (serverProblems.length === 0) return;
    const locate = await createLocator(file.text);
    for (const [entry, problem] of serverProblems.slice(0, MAX_PROBLEMS_PER_FILE)) {
      const path = [...entry.path, ...problem.path];
      const location = { file: file.source.file, path: formatReadablePath(path), ...locate(path) };
      this.#problems.push({ ...toProblem(problem, entry.name), ...location });
    }
  }

  toResult(fileProblems: readonly ConfigProblem[]): LoadedMcpServers {
    const { enabledServers = [] } = this.#settings;
    const unknown = enabledServers.filter((name) => !this.#files.has(name));
    const notFound = unknown.map((name): ConfigProblem => ({
      kind: "unknown-server",
      server: name,
      message: `No file defines the server ${JSON.stringify(name)} of enabledServers. Check its name, and that the files of its scope are read (project, user).`,
    }));
    return {
      servers: Object.fromEntries(this.#servers),
      problems: [...fileProblems, ...this.#problems, ...notFound],
      sources: this.#sources,
    };
  }

  async #addEntry(entry: ConfigEntry, file: ConfigFile): Promise<MergedEntry> {
    const { name } = entry;
    const { source } = file;
    const skipped = { name, variables: [], ignored: [] };
    const firstFile = this.#files.get(name);
    if (firstFile !== undefined) {
      const hasToolRules = isPlainObject(entry.value) && "tools" in entry.value;
      if (source.scope === "user" && hasToolRules) this.#dropProjectServer(name, source.file);
      return { ...skipped, state: "shadowed", reason: `already defined in ${firstFile}` };
    }
    const reason = this.#getDisabledReason(name, source);
    if (reason !== undefined) {
      this.#files.set(name, source.file);
      return { ...skipped, state: "disabled", reason };
    }
    const { variables, ignored, ready, disabledReason, problems, restricted } = await readServerEntry(entry, {
      file,
      folders: this.#settings.folders,
      readText: (path) => this.#reader.text(path),
    });
    const server = { name, variables, ignored };
    if (ready && !this.#settings.filter({ name, source, definition: ready.definition }))
      return { ...server, state: "filtered", reason: "rejected by your filter" };
    this.#files.set(name, source.file);
    if (disabledReason !== undefined) return { ...server, state: "disabled", reason: disabledReason };
    if (ready === undefined)
      return { ...server, state: "broken", reason: "invalid: see problems", problems: problems ?? [] };
    const duplicate = this.#endpoints.get(ready.endpoint);
    if (duplicate !== undefined) {
      const duplicateFile = this.#files.get(duplicate) ?? "";
      const same = `same server as ${JSON.stringify(duplicate)} in ${duplicateFile}`;
      return { ...server, state: "shadowed", reason: same };
    }
    this.#endpoints.set(ready.endpoint, name);
    const isForeign = source.scope === "project" && ready.definition.command === undefined;
    const { definition } = ready;
    const marked = isForeign ? withAddressOrigin(definition, { source: "file" }) : definition;
    this.#servers.set(name, withConfigFile(marked, toReadable(source.file)));
    return { ...server, state: "loaded", problems: restricted ?? [] };
  }

  /** A project file must not replace the rules that the user has set for a server of this name. */
  #dropProjectServer(name: string, userFile: string): void {
    const dropped = this.#projectServers.get(name);
    const server = dropped?.list[dropped.index];
    if (dropped === undefined || server === undefined) return;
    const reason = `would replace a server of the same name with tool rules in ${userFile}`;
    dropped.list[dropped.index] = { ...server, state: "broken", reason };
    this.#projectServers.delete(name);
    this.#servers.delete(name);
    const message = `Server ${JSON.stringify(server.name)} of the project ${reason}; neither is loaded. Rename one of them, or set project: false.`;
    this.#problems.push({ kind: "restricted-option", server: server.name, message });
  }

  /** Why the server is disabled by settings outside of its file. */
  #getDisabledReason(name: string, { file, scope }: ConfigFile["source"]): string | undefined {
    const { enabledServers, disabledServers } = this.#settings;
    if (disabledServers.includes(name)) return "listed in disabledServers";
    if (enabledServers?.includes(name) === false) return "not listed in enabledServers";
    const isMcpJson = scope === "project" && basename(file) === ".mcp.json";
    const rejectedBy = isMcpJson ? this.#rejections.get(name) : undefined;
    return rejectedBy === undefined ? undefined : `rejected in Claude Code (${rejectedBy})`;
  }
}

/** Names and keys of a file may contain characters that manipulate a terminal. */
function sanitizeNames({ name, variables, ignored, ...rest }: ConfigServer): ConfigServer {
  return {
    ...rest,
    name: toReadable(name),
    variables: variables.map(toReadable),
    ignored: ignored.map(toReadable),
  };
}

function formatReadablePath(path: readonly PropertyKey[]): string {
  return toReadable(formatPath(path));
}

function toProblem({ kind, path, message }: ServerProblem, name: string): ConfigProblem {
  const server = toReadable(name);
  const location = path.length === 0 ? "" : `, ${formatReadablePath(path)}`;
  const text = `Server ${JSON.stringify(server)}${location}: ${message}`;
  return { kind, server, message: /[.?!]$/.test(text) ? text : `${text}.` };
}
