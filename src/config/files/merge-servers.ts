import { basename } from "node:path";
import { formatPath } from "../../json/describe-value.js";
import type { ServerDefinition } from "../server-definition.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";
import type { ClaudeRejections } from "./claude-rejections.js";
import type { ConfigEntry } from "./parse-document.js";
import type { ConfigSettings } from "./config-options.js";
import type { ConfigProblem, ConfigFile, ConfigScope, ConfigServer, ConfigSource } from "./config-source.js";
import type { ConfigReader } from "./config-reader.js";
import { type ReadServer, readServer, type ServerProblem } from "./read-server.js";
import { SourceLocator } from "./source-locations.js";

interface MergeDependencies {
  readonly settings: ConfigSettings;
  readonly reader: ConfigReader;
  readonly rejections: ClaudeRejections;
}

/** Where a server was defined first. */
interface DefinitionOrigin {
  readonly name: string;
  readonly file: string;
}

type ReadResult = DistributiveOmit<ReadServer, "variables" | "ignored">;
type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;
type MergedEntry = ConfigServer & { readonly problems?: readonly ServerProblem[] };

/** Limits for hostile files, such as one with a million invalid arguments. */
const MAX_PROBLEMS_PER_SERVER = 10;
const MAX_PROBLEMS_PER_FILE = 100;

/**
 * Merges the servers of several files. The first definition of a name takes precedence, even when it is
 * disabled or invalid, so that another server of the same name does not replace it.
 */
export class ServerMerger {
  readonly #deps: MergeDependencies;
  readonly #names = new Map<string, DefinitionOrigin>();
  readonly #endpoints = new Map<string, DefinitionOrigin>();
  readonly #servers = new Map<string, ServerDefinition>();
  readonly #problems: ConfigProblem[] = [];
  readonly #sources: ConfigSource[] = [];

  constructor(deps: MergeDependencies) {
    this.#deps = deps;
  }

  /** Adds the servers of a file. Call it in order of precedence. */
  async add(file: ConfigFile): Promise<void> {
    const servers: ConfigServer[] = [];
    const serverProblems: [ConfigEntry, ServerProblem][] = [];
    for (const entry of file.document.entries) {
      const { problems = [], ...server } = await this.#addEntry(entry, file);
      servers.push(sanitizeNames(server));
      serverProblems.push(
        ...problems
          .slice(0, MAX_PROBLEMS_PER_SERVER)
          .map((problem): [ConfigEntry, ServerProblem] => [entry, problem]),
      );
    }
    this.#sources.push({ ...originOf(file), servers });
    const locator = new SourceLocator(file.text);
    for (const [entry, problem] of serverProblems.slice(0, MAX_PROBLEMS_PER_FILE)) {
      const path = [...entry.path, ...problem.path];
      const location = {
        file: file.file,
        path: stripHiddenCharacters(formatPath(path)),
        ...(await locator.find(path)),
      };
      this.#problems.push({ ...toProblem(problem, entry.name), ...location });
    }
  }

  get servers(): Record<string, ServerDefinition> {
    return Object.fromEntries(this.#servers);
  }

  get sources(): readonly ConfigSource[] {
    return this.#sources;
  }

  get problems(): readonly ConfigProblem[] {
    const enabledServers = this.#deps.settings.enabledServers ?? [];
    const unknown = enabledServers.filter((name) => !this.#names.has(name));
    const notFound = unknown.map((name): ConfigProblem => ({
      kind: "unknown-server",
      server: name,
      message: `No file defines the server ${JSON.stringify(name)} of enabledServers. Check its name, and that the files of its scope are read (project, user).`,
    }));
    return [...this.#problems, ...notFound];
  }

  async #addEntry(entry: ConfigEntry, file: ConfigFile): Promise<MergedEntry> {
    const { name } = entry;
    const first = this.#names.get(name);
    if (first !== undefined) return skipped(name, "shadowed", `already defined in ${first.file}`);
    const origin = { name, file: file.file };
    const reason = this.#disabledReason(origin, file.scope);
    if (reason !== undefined) {
      this.#names.set(name, origin);
      return skipped(name, "disabled", reason);
    }
    const { settings, reader } = this.#deps;
    const readText = (path: string) => reader.text(path);
    const { variables, ignored, ...read } = await readServer(entry, {
      file,
      folders: settings.folders,
      readText,
    });
    const base = { name, variables, ignored };
    const isIncluded = read.state !== "ready" || this.#passesFilter(name, file, read.definition);
    if (!isIncluded) return { ...base, state: "filtered", reason: "rejected by your filter" };
    this.#names.set(name, origin);
    return { ...base, ...this.#register(origin, read) };
  }

  #register(origin: DefinitionOrigin, read: ReadResult): Omit<MergedEntry, "name" | "variables" | "ignored"> {
    if (read.state === "disabled") return read;
    if (read.state === "broken")
      return { state: "broken", reason: "invalid: see problems", problems: read.problems };
    const duplicate = this.#endpoints.get(read.endpoint);
    if (duplicate !== undefined)
      return {
        state: "shadowed",
        reason: `same server as ${JSON.stringify(duplicate.name)} in ${duplicate.file}`,
      };
    this.#endpoints.set(read.endpoint, origin);
    this.#servers.set(origin.name, read.definition);
    return { state: "loaded" };
  }

  #passesFilter(name: string, file: ConfigFile, definition: ServerDefinition): boolean {
    return this.#deps.settings.filter({ name, source: originOf(file), definition });
  }

  /** Why the server is disabled by settings outside of its file. */
  #disabledReason({ name, file }: DefinitionOrigin, scope: ConfigScope): string | undefined {
    const { settings, rejections } = this.#deps;
    const { enabledServers, disabledServers } = settings;
    if (disabledServers.includes(name)) return "listed in disabledServers";
    if (enabledServers?.includes(name) === false) return "not listed in enabledServers";
    const isMcpJson = scope === "project" && basename(file) === ".mcp.json";
    const rejectedBy = isMcpJson ? rejections.get(name) : undefined;
    return rejectedBy === undefined ? undefined : `rejected in Claude Code (${rejectedBy})`;
  }
}

function skipped(name: string, state: "shadowed" | "disabled", reason: string): MergedEntry {
  return { name, state, reason, variables: [], ignored: [] };
}

function originOf({ file, scope, format }: ConfigFile): Omit<ConfigSource, "servers"> {
  return { file, scope, format };
}

/** Names and keys of a file may contain characters that manipulate a terminal. */
function sanitizeNames({ name, variables, ignored, ...rest }: ConfigServer): ConfigServer {
  const [readableName = "", ...others] = [name, ...variables, ...ignored].map(stripHiddenCharacters);
  return {
    ...rest,
    name: readableName,
    variables: others.slice(0, variables.length),
    ignored: others.slice(variables.length),
  };
}

function withPeriod(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

function toProblem({ kind, path, message }: ServerProblem, server: string): ConfigProblem {
  const name = stripHiddenCharacters(server);
  const location = path.length === 0 ? "" : `, ${stripHiddenCharacters(formatPath(path))}`;
  return { kind, server: name, message: withPeriod(`Server ${JSON.stringify(name)}${location}: ${message}`) };
}
