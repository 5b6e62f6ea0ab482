import { getAtPath } from "../../json/json-path.js";
import { isPlainObject, type JsonObject, toArray } from "../../json/json.js";
import { CONFIG_FORMATS, type ConfigFormat, type ConfigFormatName } from "./config-locations.js";
import type { ConfigSource, ConfigSettings } from "./config-options.js";
import { type ConfigInput, parseInputs } from "./expand-variables.js";

/** A server entry of a config file. */
export interface ConfigEntry {
  readonly name: string;
  readonly value: unknown;
  /** The path of the value in the document. */
  readonly path: readonly PropertyKey[];
  /** The key of the list in the file that disables it, if any. */
  readonly disabledBy: string | undefined;
}

/** The content of a config file. */
interface ConfigDocument {
  readonly entries: readonly ConfigEntry[];
  readonly inputs: ReadonlyMap<string, ConfigInput>;
}

/** A parsed config file whose servers have not been read yet. */
export interface ConfigFile {
  /** The file, without its servers. */
  readonly source: Omit<ConfigSource, "servers">;
  /** The folder of the project that it belongs to. */
  readonly folder: string;
  readonly text: string;
  readonly document: ConfigDocument;
}

/** The servers of a file in order of precedence; `undefined` when it is not a list of servers. */
export function parseDocument(
  value: unknown,
  format: ConfigFormatName,
  { folders: { project }, inputs }: ConfigSettings,
): ConfigDocument | undefined {
  if (!isPlainObject(value)) return undefined;
  const getDisabledBy = findToggles(value, format);
  const lists =
    format === "claude-code"
      ? findClaudeLists(value, project)
      : findServerLists(value, CONFIG_FORMATS[format]);
  const entries = lists?.flatMap(({ path, servers }) =>
    Object.entries(servers).map(([name, server]) => ({
      name,
      value: server,
      path: [...path, name],
      disabledBy: getDisabledBy(name),
    })),
  );
  return entries && { entries, inputs: parseInputs(value["inputs"], inputs) };
}

interface ServerList {
  readonly path: readonly PropertyKey[];
  readonly servers: JsonObject;
}

/** A settings file may have no servers. A server list with unexpected content is not understood. */
function findServerLists(document: JsonObject, { keys, isBareMap }: ConfigFormat): ServerList[] | undefined {
  const key = keys.find((name) => document[name] !== undefined);
  if (key !== undefined) {
    const servers = document[key];
    return isPlainObject(servers) ? [{ path: [key], servers }] : undefined;
  }
  const { $schema: _, inputs: __, ...others } = document;
  if (!isBareMap || Object.keys(others).length === 0) return [];
  return Object.values(others).every(looksLikeServer) ? [{ path: [], servers: others }] : undefined;
}

function looksLikeServer(value: unknown): boolean {
  return isPlainObject(value) && ["command", "url", "type", "functionName"].some((key) => key in value);
}

/** Servers of the project take precedence over those for all projects. */
function findClaudeLists(document: JsonObject, project: string): ServerList[] {
  const paths = [
    ...findProjectPaths(document, project).map((path) => [...path, "mcpServers"]),
    ["mcpServers"],
  ];
  return paths.flatMap((path) => {
    const servers = getAtPath(document, path);
    return isPlainObject(servers) ? [{ path, servers }] : [];
  });
}

/** Where Claude Code stores the settings of a project. On Windows, the path may be written with slashes. */
export function findProjectPaths(document: JsonObject, project: string): string[][] {
  const names = new Set([project, project.replaceAll("\\", "/")]);
  return [...names]
    .map((name) => ["projects", name])
    .filter((path) => isPlainObject(getAtPath(document, path)));
}

/** Finds the lists of enabled and disabled names outside of the server entries. */
function findToggles(document: JsonObject, format: ConfigFormatName): (name: string) => string | undefined {
  const [on, off] =
    format === "gemini-cli" ? ["mcp.allowed", "mcp.excluded"] : ["enabledServers", "disabledServers"];
  const allowed = getAtPath(document, on.split("."));
  const excluded = collectNames(getAtPath(document, off.split(".")));
  return (name) => {
    if (excluded.includes(name)) return off;
    return Array.isArray(allowed) && !allowed.includes(name) ? on : undefined;
  };
}

export function collectNames(value: unknown): string[] {
  return toArray(value).filter((name) => typeof name === "string");
}
