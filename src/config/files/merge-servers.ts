import { basename } from "node:path";
import { formatPath } from "../../json/describe-value.js";
import type { ServerDefinition } from "../server-definition.js";
import { toReadable } from "../../errors/sanitize-text.js";
import type { Rejections } from "./claude-rejections.js";
import type { ConfigEntry } from "./parse-document.js";
import type { ConfigSettings } from "./config-options.js";
import type { ConfigProblem } from "./config-problem.js";
import type { ConfigReader } from "./config-reader.js";
import type { ConfigFile, ConfigScope, ConfigServer, ConfigSource } from "./config-source.js";
import { type ReadServer, readServer, type ServerProblem } from "./read-server.js";
import { TextPlaces } from "./source-locations.js";

interface MergeParts {
  readonly settings: ConfigSettings;
  readonly reader: ConfigReader;
  readonly rejections: Rejections;
}

/** A definition, as it is named to people. */
interface Definer {
  readonly name: string;
  readonly file: string;
}

type Read = DistributiveOmit<ReadServer, "variables" | "ignored">;
type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;
type Taken = ConfigServer & { readonly problems?: readonly ServerProblem[] };

/** A list of a million wrong arguments is told by its first ones. */
const MOST_OF_SERVER = 10;
const MOST_OF_FILE = 100;

/**
 * Puts the servers of many files together. The first definition of a name counts, also where it is off
 * or no good: what it was meant to be is not replaced by something else of that name.
 */
export class ConfigMerge {
  readonly #parts: MergeParts;
  readonly #names = new Map<string, Definer>();
  readonly #endpoints = new Map<string, Definer>();
  readonly #servers = new Map<string, ServerDefinition>();
  readonly #problems: ConfigProblem[] = [];
  readonly #sources: ConfigSource[] = [];

  constructor(parts: MergeParts) {
    this.#parts = parts;
  }

  /** Files come in order of precedence. */
  async add(file: ConfigFile): Promise<void> {
    const servers: ConfigServer[] = [];
    const told: [ConfigEntry, ServerProblem][] = [];
    for (const entry of file.document.entries) {
      const { problems = [], ...server } = await this.#take(entry, file);
      servers.push(toShown(server));
      told.push(
        ...problems.slice(0, MOST_OF_SERVER).map((one): [ConfigEntry, ServerProblem] => [entry, one]),
      );
    }
    this.#sources.push({ ...originOf(file), servers });
    const places = new TextPlaces(file.text);
    for (const [entry, problem] of told.slice(0, MOST_OF_FILE)) {
      const path = [...entry.path, ...problem.path];
      const where = { file: file.file, path: toReadable(formatPath(path)), ...(await places.find(path)) };
      this.#problems.push({ ...toTold(problem, entry.name), ...where });
    }
  }

  get servers(): Record<string, ServerDefinition> {
    return Object.fromEntries(this.#servers);
  }

  get sources(): readonly ConfigSource[] {
    return this.#sources;
  }

  get problems(): readonly ConfigProblem[] {
    const wanted = this.#parts.settings.enabledServers ?? [];
    const unknown = wanted.filter((name) => !this.#names.has(name));
    const notFound = unknown.map((name): ConfigProblem => ({
      kind: "unknown-server",
      server: name,
      message: `No file has the server ${JSON.stringify(name)} of enabledServers. Is its name right, and are the files of its scope read (project, user)?`,
    }));
    return [...this.#problems, ...notFound];
  }

  async #take(entry: ConfigEntry, file: ConfigFile): Promise<Taken> {
    const { name } = entry;
    const first = this.#names.get(name);
    if (first !== undefined) return untouched(name, "shadowed", `${first.file} has a server of this name`);
    const here = { name, file: file.file };
    const off = this.#whyOff(here, file.scope);
    if (off !== undefined) {
      this.#names.set(name, here);
      return untouched(name, "disabled", off);
    }
    const { settings, reader } = this.#parts;
    const readText = (path: string) => reader.text(path);
    const { variables, ignored, ...read } = await readServer(entry, {
      file,
      folders: settings.folders,
      readText,
    });
    const told = { name, variables, ignored };
    const isWanted = read.state !== "ready" || this.#isWanted(name, file, read.definition);
    if (!isWanted) return { ...told, state: "filtered", reason: "your filter said no" };
    this.#names.set(name, here);
    return { ...told, ...this.#settle(here, read) };
  }

  #settle(here: Definer, read: Read): Omit<Taken, "name" | "variables" | "ignored"> {
    if (read.state === "off") return { state: "disabled", reason: read.why };
    if (read.state === "broken")
      return { state: "broken", reason: "it cannot be used: see problems", problems: read.problems };
    const same = this.#endpoints.get(read.endpoint);
    if (same !== undefined)
      return {
        state: "shadowed",
        reason: `it is ${JSON.stringify(same.name)} of ${same.file} by another name`,
      };
    this.#endpoints.set(read.endpoint, here);
    this.#servers.set(here.name, read.definition);
    return { state: "taken" };
  }

  #isWanted(name: string, file: ConfigFile, definition: ServerDefinition): boolean {
    return this.#parts.settings.filter({ name, source: originOf(file), definition });
  }

  /** By what stands outside of its file. */
  #whyOff({ name, file }: Definer, scope: ConfigScope): string | undefined {
    const { settings, rejections } = this.#parts;
    const { enabledServers, disabledServers } = settings;
    if (disabledServers.includes(name)) return "disabledServers has its name";
    if (enabledServers?.includes(name) === false) return "enabledServers does not have its name";
    const isMcpJson = scope === "project" && basename(file) === ".mcp.json";
    const rejectedBy = isMcpJson ? rejections.get(name) : undefined;
    return rejectedBy === undefined ? undefined : `it was rejected in Claude Code (${rejectedBy})`;
  }
}

function untouched(name: string, state: "shadowed" | "disabled", reason: string): Taken {
  return { name, state, reason, variables: [], ignored: [] };
}

function originOf({ file, scope, format }: ConfigFile): Omit<ConfigSource, "servers"> {
  return { file, scope, format };
}

/** Names and keys of a file may hold what changes how a terminal shows them. */
function toShown({ name, variables, ignored, ...rest }: ConfigServer): ConfigServer {
  const [shown = "", ...others] = [name, ...variables, ...ignored].map(toReadable);
  return {
    ...rest,
    name: shown,
    variables: others.slice(0, variables.length),
    ignored: others.slice(variables.length),
  };
}

function withStop(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

function toTold({ kind, path, message }: ServerProblem, server: string): ConfigProblem {
  const name = toReadable(server);
  const where = path.length === 0 ? "" : `, ${toReadable(formatPath(path))}`;
  return { kind, server: name, message: withStop(`Server ${JSON.stringify(name)}${where}: ${message}`) };
}
