import { isPlainObject } from "../../json/json.js";
import { at, namesIn, projectPaths } from "./parse-document.js";
import { type ConfigFolders, pathOfPlace } from "./config-locations.js";

/** What a person has refused of a project's `.mcp.json` in Claude Code: the name, and the file that says so. */
export type Rejections = ReadonlyMap<string, string>;

interface RejectionPlace {
  readonly scope: "project" | "user";
  readonly path: string;
}

const PLACES: readonly RejectionPlace[] = [
  { scope: "project", path: "{project}/.claude/settings.local.json" },
  { scope: "project", path: "{project}/.claude/settings.json" },
  { scope: "user", path: "{home}/.claude/settings.json" },
  { scope: "user", path: "{claude}/.claude.json" },
];

interface RejectionParts {
  readonly folders: ConfigFolders;
  readonly scopes: ReadonlySet<string>;
  /** `undefined` for what is not there or cannot be read. */
  readonly read: (file: string) => Promise<unknown>;
}

/**
 * Reads `disabledMcpjsonServers`. Its counterpart, `enabledMcpjsonServers`, is an agreement between a
 * person and Claude Code, and says nothing about who else may start a command.
 */
export async function readClaudeRejections({ folders, scopes, read }: RejectionParts): Promise<Rejections> {
  const places = PLACES.filter(({ scope }) => scopes.has(scope)).map((place) => pathOfPlace(place, folders));
  const named = await Promise.all(
    places.map(async (file) =>
      rejectedIn(await read(file), folders.project).map((name) => [name, file] as const),
    ),
  );
  return new Map(named.flat().toReversed());
}

function rejectedIn(document: unknown, project: string): string[] {
  if (!isPlainObject(document)) return [];
  const ofProject = projectPaths(document, project).flatMap((path) => [
    ...namesIn(at(document, [...path, "disabledMcpjsonServers"])),
    ...namesIn(at(document, [...path, "disabledMcpServers"])),
  ]);
  return [...namesIn(at(document, ["disabledMcpjsonServers"])), ...ofProject];
}
