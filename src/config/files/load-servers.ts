import { CancelScope } from "../../async/cancel-scope.js";
import type { ServerDefinition } from "../server-definition.js";
import { readClaudeRejections } from "./claude-rejections.js";
import { readDocument } from "./parse-document.js";
import { CONFIG_FORMATS } from "./config-formats.js";
import { ConfigMerge } from "./merge-servers.js";
import type { ConfigSettings } from "./config-options.js";
import { CONFIG_PLACES, pathOfPlace, recognise } from "./config-locations.js";
import type { ConfigProblem } from "./config-problem.js";
import { ConfigReader } from "./config-reader.js";
import type { ConfigFile, ConfigSource } from "./config-source.js";
import { MOST_BYTES_OF_OTHERS, type OpenFileAt } from "./read-config-file.js";

export interface LoadedMcpServers {
  /** By name, in order of precedence. */
  readonly servers: Record<string, ServerDefinition>;
  readonly problems: readonly ConfigProblem[];
  /** Every file that was read, in order of precedence, with what became of each of its servers. */
  readonly sources: readonly ConfigSource[];
}

/** More than anybody has, and few enough to look at each. */
const MOST_SERVERS = 1_000;
const NO_TOML = 'TOML is not read: write the servers as JSON, { "mcpServers": { name: definition } }.';

type ConfigOrigin = Pick<ConfigFile, "file" | "scope" | "format" | "folder">;

export async function loadConfig(settings: ConfigSettings, openFile: OpenFileAt): Promise<LoadedMcpServers> {
  const cancellation = CancelScope.fromSignal(settings.signal);
  try {
    cancellation.throwIfCancelled();
    const reader = new ConfigReader(openFile, cancellation);
    const origins = originsOf(settings);
    const [found, rejected] = await Promise.all([
      Promise.all(origins.map((origin) => readFile(origin, reader, settings))),
      readRejections(reader, settings),
    ]);
    const merge = new ConfigMerge({ settings, reader, rejections: rejected.rejections });
    const files = found.flatMap((one) => ("document" in one ? [one] : []));
    for (const file of files) await merge.add(file);
    const ofFiles = [...found.flatMap((one) => ("kind" in one ? [one] : [])), ...rejected.problems];
    const { servers, sources } = merge;
    return { servers, problems: [...ofFiles, ...merge.problems], sources };
  } finally {
    cancellation.release();
  }
}

/** Which files, in order of precedence, each once. */
function originsOf({ files, scopes, folders }: ConfigSettings): ConfigOrigin[] {
  const given = files.map((file) => ({ file, scope: "given" as const, ...recognise(file) }));
  const looked = CONFIG_PLACES.filter(({ scope }) => scopes.has(scope)).map((place) => ({
    file: pathOfPlace(place, folders),
    scope: place.scope,
    format: place.format,
    folder: folders.project,
  }));
  const byPath = new Map<string, ConfigOrigin>();
  for (const origin of [...given, ...looked]) if (!byPath.has(origin.file)) byPath.set(origin.file, origin);
  return [...byPath.values()];
}

/** A file that was only looked for, and is not there, is nothing to speak of. */
async function readFile(
  origin: ConfigOrigin,
  reader: ConfigReader,
  { folders, inputs }: ConfigSettings,
): Promise<ConfigFile | ConfigProblem | { readonly isMissing: true }> {
  const { file, scope } = origin;
  if (/\.toml$/i.test(file)) return { kind: "unknown-format", file, message: NO_TOML };
  const read = await reader.read(file, scope === "project" ? MOST_BYTES_OF_OTHERS : undefined);
  if ("kind" in read) return read.kind === "missing-file" && scope !== "given" ? { isMissing: true } : read;
  const format = formatOf(origin, read.value);
  const document = readDocument(read.value, { format, project: folders.project, answers: inputs });
  if (document !== undefined && document.entries.length > MOST_SERVERS)
    return { kind: "unreadable", file, message: `The file has more than ${MOST_SERVERS} servers.` };
  if (document !== undefined) return { ...origin, format, text: read.text, document };
  const { client, keys } = CONFIG_FORMATS[format];
  const key = keys.map((one) => `"${one}"`).join(" or ");
  const message = `The file is no list of servers as ${client} have it: expected an object with ${key}, and servers by name in that.`;
  return { kind: "unknown-format", file, message };
}

/** A file whose name tells nothing may still speak for itself. */
function formatOf({ scope, format }: ConfigOrigin, value: unknown): ConfigFile["format"] {
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
      const isTold = CONFIG_PLACES.some((place) => pathOfPlace(place, folders) === file);
      if (read.kind !== "missing-file" && !isTold) problems.push(read);
      return undefined;
    },
  });
  return { rejections, problems };
}
