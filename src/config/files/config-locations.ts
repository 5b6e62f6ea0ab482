import { dirname, join, resolve } from "node:path";
import type { ConfigFormatName } from "./config-formats.js";
import type { ConfigScope } from "./config-source.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where this process is, and whose it is. */
export interface ConfigFolders {
  readonly project: string;
  readonly home: string;
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
}

/** A file that is looked for. */
export interface ConfigPlace {
  readonly scope: Exclude<ConfigScope, "given">;
  /** Begins with a folder that depends on the machine, in braces. */
  readonly path: string;
  readonly format: ConfigFormatName;
}

const EXTENSIONS = "{config}/Code/User/globalStorage";

/** All of them, in order of precedence: of two servers of one name, that of the earlier file is taken. */
export const CONFIG_PLACES: readonly ConfigPlace[] = [
  { scope: "project", path: "{project}/.mcp.json", format: "mcp-json" },
  { scope: "project", path: "{project}/mcp.json", format: "mcp-json" },
  { scope: "project", path: "{project}/.vscode/mcp.json", format: "vscode" },
  { scope: "project", path: "{project}/.cursor/mcp.json", format: "cursor" },
  { scope: "project", path: "{project}/.github/mcp.json", format: "copilot-cli" },
  { scope: "project", path: "{project}/.gemini/settings.json", format: "gemini-cli" },
  { scope: "project", path: "{project}/.roo/mcp.json", format: "roo-code" },
  { scope: "project", path: "{project}/.zed/settings.json", format: "zed" },
  { scope: "user", path: "{claude}/.claude.json", format: "claude-code" },
  { scope: "user", path: "{config}/Code/User/mcp.json", format: "vscode" },
  { scope: "user", path: "{home}/.cursor/mcp.json", format: "cursor" },
  { scope: "user", path: "{config}/Claude/claude_desktop_config.json", format: "claude-desktop" },
  { scope: "user", path: "{home}/.codeium/windsurf/mcp_config.json", format: "windsurf" },
  { scope: "user", path: "{home}/.gemini/settings.json", format: "gemini-cli" },
  { scope: "user", path: "{copilot}/mcp-config.json", format: "copilot-cli" },
  {
    scope: "user",
    path: `${EXTENSIONS}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    format: "cline",
  },
  { scope: "user", path: "{home}/.cline/data/settings/cline_mcp_settings.json", format: "cline" },
  {
    scope: "user",
    path: `${EXTENSIONS}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`,
    format: "roo-code",
  },
  { scope: "user", path: "{xdg}/zed/settings.json", format: "zed" },
];

/** What is looked for in the folder of a project. */
export const PROJECT_FILES: readonly string[] = CONFIG_PLACES.filter(({ scope }) => scope === "project").map(
  ({ path }) => restOf(path),
);

export function pathOfPlace({ path }: Pick<ConfigPlace, "path">, folders: ConfigFolders): string {
  const [, root = "", rest = ""] = /^\{(\w+)\}\/(.*)$/.exec(path) ?? [];
  return join(rootsOf(folders)[root] ?? "", rest);
}

function rootsOf({ project, home, env, platform }: ConfigFolders): Readonly<Record<string, string>> {
  const roaming = env["APPDATA"] ?? join(home, "AppData", "Roaming");
  const xdg = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  const config = { win32: roaming, darwin: join(home, "Library", "Application Support") };
  return {
    project,
    home,
    claude: env["CLAUDE_CONFIG_DIR"] ?? home,
    copilot: env["COPILOT_HOME"] ?? join(home, ".copilot"),
    xdg: platform === "win32" ? roaming : xdg,
    config: platform === "win32" || platform === "darwin" ? config[platform] : xdg,
  };
}

/** How a file that was given is read, and the folder that it speaks for: by the place that it looks like. */
export function recognise(file: string): { readonly format: ConfigFormatName; readonly folder: string } {
  const path = file.replaceAll("\\", "/").toLowerCase();
  const [best] = CONFIG_PLACES.map((place) => ({ ...place, rest: restOf(place.path) }))
    .filter(({ rest }) => path.endsWith(`/${rest.toLowerCase()}`))
    .toSorted((a, b) => b.rest.length - a.rest.length);
  if (best === undefined) return { format: "mcp-json", folder: dirname(file) };
  const levels = best.scope === "project" ? best.rest.split("/").length : 1;
  return { format: best.format, folder: resolve(file, ...Array<string>(levels).fill("..")) };
}

function restOf(place: string): string {
  return place.slice(place.indexOf("/") + 1);
}
