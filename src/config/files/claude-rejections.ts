import { isPlainObject } from "../../json/json.js";
import { getAtPath, collectNames, findProjectPaths } from "./parse-document.js";
import { type ConfigFolders, resolveLocation } from "./config-locations.js";

/**
 * Servers of a project's `.mcp.json` that the user rejected in Claude Code, with the file of the rejection.
 */
export type ClaudeRejections = ReadonlyMap<string, string>;

interface RejectionLocation {
  readonly scope: "project" | "user";
  readonly path: string;
}

const REJECTION_LOCATIONS: readonly RejectionLocation[] = [
  { scope: "project", path: "{project}/.claude/settings.local.json" },
  { scope: "project", path: "{project}/.claude/settings.json" },
  { scope: "user", path: "{home}/.claude/settings.json" },
  { scope: "user", path: "{claude}/.claude.json" },
];

interface ReadRejectionsOptions {
  readonly folders: ConfigFolders;
  readonly scopes: ReadonlySet<string>;
  /** Returns `undefined` for missing and unreadable files. */
  readonly read: (file: string) => Promise<unknown>;
}

/**
 * Reads `disabledMcpjsonServers`. Its counterpart `enabledMcpjsonServers` is ignored: that consent was given
 * to Claude Code only.
 */
export async function readClaudeRejections({
  folders,
  scopes,
  read,
}: ReadRejectionsOptions): Promise<ClaudeRejections> {
  const files = REJECTION_LOCATIONS.filter(({ scope }) => scopes.has(scope)).map((location) =>
    resolveLocation(location, folders),
  );
  const rejected = await Promise.all(
    files.map(async (file) =>
      collectRejected(await read(file), folders.project).map((name) => [name, file] as const),
    ),
  );
  return new Map(rejected.flat().toReversed());
}

function collectRejected(document: unknown, project: string): string[] {
  if (!isPlainObject(document)) return [];
  const ofProject = findProjectPaths(document, project).flatMap((path) => [
    ...collectNames(getAtPath(document, [...path, "disabledMcpjsonServers"])),
    ...collectNames(getAtPath(document, [...path, "disabledMcpServers"])),
  ]);
  return [...collectNames(getAtPath(document, ["disabledMcpjsonServers"])), ...ofProject];
}
