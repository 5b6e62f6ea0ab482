import { CancelScope } from "../../async/cancel-scope.js";
import type { ServerDefinition } from "../server-definition.js";
import { readClaudeRejections } from "./claude-rejections.js";
import { parseDocument } from "./parse-document.js";
import { CONFIG_FORMATS } from "./config-formats.js";
import { ServerMerger } from "./merge-servers.js";
import type { ConfigSettings } from "./config-options.js";
import { CONFIG_LOCATIONS, resolveLocation, detectFormat } from "./config-locations.js";
import type { ConfigProblem, ConfigFile, ConfigSource } from "./config-source.js";
import { ConfigReader, MAX_FOREIGN_FILE_BYTES, type OpenFileFunction } from "./config-reader.js";

/** The result of `loadMcpServers`. */
export interface LoadedMcpServers {
  /** The servers by name, in order of precedence. Can be passed to `createMcpTools`. */
  readonly servers: Record<string, ServerDefinition>;
  /** Problems of files and servers. None of them prevents the other servers from being loaded. */
  readonly problems: readonly ConfigProblem[];
  /** Every file that was read, in order of precedence, with the state of each of its servers. */
  readonly sources: readonly ConfigSource[];
}

/** More than any real file has. */
const MAX_SERVERS = 1_000;
const NO_TOML = 'TOML is not supported: write the servers as JSON, { "mcpServers": { name: definition } }.';

type ConfigOrigin = Pick<ConfigFile, "file" | "scope" | "format" | "folder">;

export async function loadServers(
  settings: ConfigSettings,
  openFile: OpenFileFunction,
): Promise<LoadedMcpServers> {
  const scope = CancelScope.fromSignal(settings.signal);
  try {
    scope.throwIfCancelled();
    const reader = new ConfigReader(openFile, scope);
    const origins = collectOrigins(settings);
    const [results, rejected] = await Promise.all([
      Promise.all(origins.map((origin) => readFile(origin, reader, settings))),
      readRejections(reader, settings),
    ]);
    const merger = new ServerMerger({ settings, reader, rejections: rejected.rejections });
    const files = results.flatMap((result) => ("document" in result ? [result] : []));
    for (const file of files) await merger.add(file);
    const fileProblems = [
      ...results.flatMap((result) => ("kind" in result ? [result] : [])),
      ...rejected.problems,
    ];
    const { servers, sources } = merger;
    return { servers, problems: [...fileProblems, ...merger.problems], sources };
  } finally {
    scope.dispose();
  }
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

/** A missing file is a problem only if it was passed explicitly. */
async function readFile(
  origin: ConfigOrigin,
  reader: ConfigReader,
  { folders, inputs }: ConfigSettings,
): Promise<ConfigFile | ConfigProblem | { readonly isMissing: true }> {
  const { file, scope } = origin;
  if (/\.toml$/i.test(file)) return { kind: "unknown-format", file, message: NO_TOML };
  const read = await reader.read(file, scope === "project" ? MAX_FOREIGN_FILE_BYTES : undefined);
  if ("kind" in read) return read.kind === "missing-file" && scope !== "given" ? { isMissing: true } : read;
  const format = refineFormat(origin, read.value);
  const document = parseDocument(read.value, { format, project: folders.project, answers: inputs });
  if (document !== undefined && document.entries.length > MAX_SERVERS)
    return { kind: "unreadable", file, message: `The file has more than ${MAX_SERVERS} servers.` };
  if (document !== undefined) return { ...origin, format, text: read.text, document };
  const { client, keys } = CONFIG_FORMATS[format];
  const key = keys.map((name) => `"${name}"`).join(" or ");
  const message = `The file has no servers in the format of ${client}: expected an object with ${key}, which holds the servers by name.`;
  return { kind: "unknown-format", file, message };
}

/** Detects the format by content when the file name does not reveal it. */
function refineFormat({ scope, format }: ConfigOrigin, value: unknown): ConfigFile["format"] {
  const isZed = typeof value === "object" && value !== null && "context_servers" in value;
  return scope === "given" && format === "mcp-json" && isZed ? "zed" : format;
}

async function readRejections(reader: ConfigReader, { folders, scopes }: ConfigSettings) {
  const problems: ConfigProblem[] = [];
  const rejections = await readClaudeRejections({
    folders,
    scopes,
    read: async (file) => {
      const read = await reader.read(file);
      if (!("kind" in read)) return read.value;
      const isReportedElsewhere = CONFIG_LOCATIONS.some(
        (location) => resolveLocation(location, folders) === file,
      );
      if (read.kind !== "missing-file" && !isReportedElsewhere) problems.push(read);
      return undefined;
    },
  });
  return { rejections, problems };
}
