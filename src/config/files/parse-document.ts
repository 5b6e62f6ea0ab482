import { isPlainObject, type JsonObject } from "../../json/json.js";
import { CONFIG_FORMATS, type ConfigFormat, type ConfigFormatName } from "./config-formats.js";
import { type ConfigInput, readInputs } from "./config-inputs.js";

/** A server as it stands in a file. */
export interface ConfigEntry {
  readonly name: string;
  readonly value: unknown;
  /** Of the value in its document. */
  readonly path: readonly PropertyKey[];
  /** The list of the file that switches it off, if any does. */
  readonly offBy: string | undefined;
}

export interface ConfigDocument {
  readonly entries: readonly ConfigEntry[];
  readonly inputs: ReadonlyMap<string, ConfigInput>;
}

interface DocumentOptions {
  readonly format: ConfigFormatName;
  /** Whose part of a file that speaks for many projects is read. */
  readonly project: string;
  /** To the inputs that it declares. */
  readonly answers: Readonly<Record<string, string>>;
}

/** The servers of a file in order of precedence; `undefined` where it is no list of servers at all. */
export function readDocument(
  value: unknown,
  { format, project, answers }: DocumentOptions,
): ConfigDocument | undefined {
  if (!isPlainObject(value)) return undefined;
  const rules: ConfigFormat = CONFIG_FORMATS[format];
  const offBy = switchesOf(value, format);
  const lists = format === "claude-code" ? listsOfClaude(value, project) : listsOf(value, rules);
  if (lists === undefined) return undefined;
  const entries = lists.flatMap(({ path, servers }) =>
    Object.entries(servers).map(([name, server]) => ({
      name,
      value: server,
      path: [...path, name],
      offBy: offBy(name),
    })),
  );
  return { entries, inputs: readInputs(value["inputs"], answers) };
}

interface ServerList {
  readonly path: readonly PropertyKey[];
  readonly servers: JsonObject;
}

/** A file of settings may have no servers; one that exists for them and has other things is not understood. */
function listsOf(document: JsonObject, { keys, isBareMap }: ConfigFormat): ServerList[] | undefined {
  const key = keys.find((one) => document[one] !== undefined);
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

/** Those of the project come before those for all projects. */
function listsOfClaude(document: JsonObject, project: string): ServerList[] {
  const paths = [...projectPaths(document, project).map((path) => [...path, "mcpServers"]), ["mcpServers"]];
  return paths.flatMap((path) => {
    const servers = at(document, path);
    return isPlainObject(servers) ? [{ path, servers }] : [];
  });
}

/** Where Claude Code keeps what it knows of a project, if it knows it. On Windows with slashes, too. */
export function projectPaths(document: JsonObject, project: string): string[][] {
  const names = new Set([project, project.replaceAll("\\", "/")]);
  return [...names].map((name) => ["projects", name]).filter((path) => isPlainObject(at(document, path)));
}

/** Names in a file that are on or off beside the servers themselves, by the key of their list. */
function switchesOf(document: JsonObject, format: ConfigFormatName): (name: string) => string | undefined {
  const [on, off] =
    format === "gemini-cli" ? ["mcp.allowed", "mcp.excluded"] : ["enabledServers", "disabledServers"];
  const allowed = at(document, on.split("."));
  const excluded = namesIn(at(document, off.split(".")));
  return (name) => {
    if (excluded.includes(name)) return off;
    return Array.isArray(allowed) && !allowed.includes(name) ? on : undefined;
  };
}

export function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/** By own keys only: a document may have any. */
export function at(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isPlainObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document,
  );
}
