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
import { readServerEntry, type ReadyServer, toReadable } from "./read-server-entry.js";
import type { ServerProblem } from "./translate-entry.js";

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
    const found = results.filter((result) => result !== undefined);
    const files = found.filter((result): result is ConfigFile => "source" in result);
    const fileProblems = found.filter((result): result is ConfigProblem => "kind" in result);
    const merger = new ServerMerger(settings, reader, rejections);
    for (const file of files) await merger.read(file);
    for (const file of files) await merger.add(file);
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
 * rejection. The counterpart, `enabledMcpjsonServers`, is ignored: that consent was given to Claude Code
 * only.
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

/** An entry apart from those of other files. */
interface Candidate extends MergedEntry {
  readonly source: ConfigFile["source"];
  /** The valid and enabled server. */
  readonly ready?: ReadyServer | undefined;
  /** Where the server is, without credentials. */
  readonly address?: string | undefined;
  /** What its file says about it that a project file may not change. */
  readonly guard?: string | undefined;
}

/** Limits for hostile files, such as one with a million invalid arguments. */
const MAX_PROBLEMS_PER_SERVER = 10;
const MAX_PROBLEMS_PER_FILE = 100;

const NOT_ENABLED = "not listed in enabledServers";

/**
 * Merges the servers of several files. The first definition of a name takes precedence, even when it is
 * disabled or invalid, so that another server of the same name does not replace it. Project files come before
 * those of the user, but cannot replace a server that a file of the operator restricts or disables.
 */
class ServerMerger {
  readonly #settings: ConfigSettings;
  readonly #reader: ConfigReader;
  readonly #rejections: ReadonlyMap<string, string>;
  readonly #candidates = new Map<ConfigEntry, Candidate>();
  /** The candidates of files that are not the project's. */
  readonly #own: Candidate[] = [];
  /** The file that defines each name first. */
  readonly #files = new Map<string, string>();
  /** The name that defines each endpoint first. */
  readonly #endpoints = new Map<string, string>();
  readonly #servers = new Map<string, ServerDefinition>();
  readonly #problems: ConfigProblem[] = [];
  readonly #sources: ConfigSource[] = [];

  constructor(settings: ConfigSettings, reader: ConfigReader, rejections: ReadonlyMap<string, string>) {
    this.#settings = settings;
    this.#reader = reader;
    this.#rejections = rejections;
  }

  /** Reads the servers of a file. Call it for all files before the first `add`. */
  async read(file: ConfigFile): Promise<void> {
    for (const entry of file.document.entries) {
      const candidate = await this.#readEntry(entry, file);
      this.#candidates.set(entry, candidate);
      if (file.source.scope !== "project") this.#own.push(candidate);
    }
  }

  async #readEntry(entry: ConfigEntry, file: ConfigFile): Promise<Candidate> {
    const { name } = entry;
    const { source } = file;
    const { variables, ignored, address, hasToolRules, ...read } = await readServerEntry(entry, {
      file,
      folders: this.#settings.folders,
      readText: (path) => this.#reader.text(path),
      disabledReason: this.#getDisabledReason(name, source),
    });
    const { ready, disabledReason, problems = [], restricted = [] } = read;
    const server = { name, source, variables, ignored };
    if (ready && !this.#settings.filter({ name, source, definition: ready.definition }))
      return { ...server, state: "filtered", reason: "rejected by your filter" };
    const isDisabled = disabledReason !== undefined && disabledReason !== NOT_ENABLED;
    const guard = isDisabled ? "is disabled" : hasToolRules === true ? "has tool rules" : undefined;
    const guarded = { ...server, address, guard };
    if (disabledReason !== undefined) return { ...guarded, state: "disabled", reason: disabledReason };
    if (ready === undefined)
      return { ...guarded, state: "broken", reason: "invalid: see problems", problems };
    return { ...guarded, state: "loaded", ready, problems: restricted };
  }

  /** Adds the servers of a file. Call it in order of precedence. */
  async add(file: ConfigFile): Promise<void> {
    const servers: ConfigServer[] = [];
    const serverProblems: (readonly [ConfigEntry, ServerProblem])[] = [];
    for (const entry of file.document.entries) {
      const candidate = this.#candidates.get(entry);
      if (candidate === undefined) continue;
      const { problems = [], ...server } = this.#addCandidate(candidate);
      servers.push(sanitizeNames(server));
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
    const candidates = [...this.#candidates.values()].filter(({ state }) => state !== "filtered");
    const names = new Set(candidates.map(({ name }) => name));
    const unknown = enabledServers.filter((name) => !names.has(name));
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

  #addCandidate(candidate: Candidate): MergedEntry {
    const { source, ready, address: _, guard: __, ...server } = candidate;
    const { name, state } = server;
    const skipped = { name, variables: [], ignored: [] };
    const firstFile = this.#files.get(name);
    if (firstFile !== undefined)
      return { ...skipped, state: "shadowed", reason: `already defined in ${firstFile}` };
    const isProject = source.scope === "project";
    if (state === "filtered") return server;
    const conflict = isProject && state !== "disabled" ? this.#findConflict(candidate) : undefined;
    if (conflict !== undefined) return { ...server, ...conflict };
    this.#files.set(name, source.file);
    if (ready === undefined) return server;
    const duplicate = this.#endpoints.get(ready.endpoint);
    if (duplicate !== undefined)
      return { ...server, ...toDuplicate(duplicate, this.#files.get(duplicate) ?? "") };
    this.#endpoints.set(ready.endpoint, name);
    const { definition } = ready;
    const isForeign = isProject && definition.command === undefined;
    const marked = isForeign ? withAddressOrigin(definition, { source: "file" }) : definition;
    this.#servers.set(name, withConfigFile(marked, toReadable(source.file)));
    return server;
  }

  /**
   * Returns the state of a server of a project file that a file of the operator prevents it from defining.
   */
  #findConflict(candidate: Candidate): Pick<MergedEntry, "state" | "reason" | "problems"> | undefined {
    const { name, address, ready } = candidate;
    const isSame = (own: Candidate) => address !== undefined && own.address === address;
    const guarded = this.#own.find((own) => own.guard !== undefined && (own.name === name || isSame(own)));
    if (guarded !== undefined) {
      const file = toReadable(guarded.source.file);
      const own =
        guarded.name === name
          ? `the server of this name in ${file}`
          : `${JSON.stringify(toReadable(guarded.name))} in ${file} is the same server and`;
      const reason = `${own} ${guarded.guard}`;
      const message = `is not loaded, because ${reason}, and project files cannot replace your settings. Change them there to use this server`;
      return { state: "broken", reason, problems: [{ kind: "restricted-option", path: [], message }] };
    }
    if (ready === undefined) return undefined;
    // Rules in code may have the name that the operator has chosen.
    const same = this.#own.find(
      (own) => own.ready?.endpoint === ready.endpoint && own.name !== name && this.#isUsed(own),
    );
    return same && toDuplicate(same.name, same.source.file);
  }

  /** Whether a server of the operator has its name, and no other server of that name. */
  #isUsed(own: Candidate): boolean {
    const first = this.#own.find(({ name, state }) => name === own.name && state !== "filtered");
    return first === own && [undefined, own.source.file].includes(this.#files.get(own.name));
  }

  /** Why the server is disabled by settings outside of its file. */
  #getDisabledReason(name: string, { file, scope }: ConfigFile["source"]): string | undefined {
    const { enabledServers, disabledServers } = this.#settings;
    if (disabledServers.includes(name)) return "listed in disabledServers";
    if (enabledServers?.includes(name) === false) return NOT_ENABLED;
    const isMcpJson = scope === "project" && basename(file) === ".mcp.json";
    const rejectedBy = isMcpJson ? this.#rejections.get(name) : undefined;
    return rejectedBy === undefined ? undefined : `rejected in Claude Code (${rejectedBy})`;
  }
}

function toDuplicate(name: string, file: string) {
  const reason = `same server as ${JSON.stringify(toReadable(name))} in ${file}`;
  return { state: "shadowed" as const, reason, problems: [] };
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
