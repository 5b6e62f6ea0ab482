import { dirname, join, resolve } from "node:path";

/**
 * Where a file comes from, which decides how far it is trusted.
 * - `given`: passed explicitly in `files`
 * - `project`: found in the project folder, and written by anyone with access to it; can only narrow what the
 *   operator allows
 * - `user`: found in the home folder of the user
 */
export type ConfigScope = "given" | "project" | "user";

/** How the config file of a client is parsed. */
export interface ConfigFormat {
  readonly client: string;
  /** The keys that may hold the servers; the first existing one is used. */
  readonly keys: readonly string[];
  /** The transport of a `url` without a `type`. */
  readonly urlMeans: "http" | "sse";
  /** The unit of `timeout`. */
  readonly timeoutUnitMs: number;
  /** Whether `$NAME` without braces is a variable. */
  readonly hasBareVariables: boolean;
  /** Whether the servers may be at the top level, without a key. */
  readonly isBareMap: boolean;
}

const COMMON: Omit<ConfigFormat, "client"> = {
  keys: ["mcpServers"],
  urlMeans: "http",
  timeoutUnitMs: 1,
  hasBareVariables: false,
  isBareMap: false,
};

/** The supported formats. They differ only in the properties of `ConfigFormat`. */
export const CONFIG_FORMATS = {
  "mcp-json": {
    ...COMMON,
    client: "Claude Code, Copilot CLI and others",
    keys: ["mcpServers", "servers"],
    isBareMap: true,
  },
  "claude-code": { ...COMMON, client: "Claude Code" },
  vscode: { ...COMMON, client: "VS Code", keys: ["servers", "mcpServers"] },
  cursor: { ...COMMON, client: "Cursor" },
  "claude-desktop": { ...COMMON, client: "Claude Desktop" },
  windsurf: { ...COMMON, client: "Windsurf" },
  "gemini-cli": { ...COMMON, client: "Gemini CLI", urlMeans: "sse", hasBareVariables: true },
  "copilot-cli": { ...COMMON, client: "Copilot CLI" },
  cline: { ...COMMON, client: "Cline", urlMeans: "sse", timeoutUnitMs: 1_000 },
  "roo-code": { ...COMMON, client: "Roo Code", timeoutUnitMs: 1_000 },
  zed: { ...COMMON, client: "Zed", keys: ["context_servers"] },
} satisfies Record<string, ConfigFormat>;

/** The name of a config file format. */
export type ConfigFormatName = keyof typeof CONFIG_FORMATS;

type Environment = Readonly<Record<string, string | undefined>>;

/** The folders and the environment that config files are searched in. */
export interface ConfigFolders {
  readonly project: string;
  readonly home: string;
  readonly env: Environment;
  readonly platform: NodeJS.Platform;
}

/** A file that is searched for. */
interface ConfigLocation {
  readonly scope: Exclude<ConfigScope, "given">;
  /** Starts with the name of a base folder in braces. */
  readonly path: string;
  readonly format: ConfigFormatName;
}

const EXTENSIONS = "{config}/Code/User/globalStorage";

/** All locations, in order of precedence: the first definition of a server name is used. */
export const CONFIG_LOCATIONS: readonly ConfigLocation[] = [
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

/** The files that are searched for in a project folder. */
export const PROJECT_FILES: readonly string[] = CONFIG_LOCATIONS.filter(
  ({ scope }) => scope === "project",
).map(({ path }) => relativeRest(path));

export function resolveLocation({ path }: Pick<ConfigLocation, "path">, folders: ConfigFolders): string {
  const [, root = "", rest = ""] = /^\{(\w+)\}\/(.*)$/.exec(path) ?? [];
  return join(baseFolders(folders)[root] ?? "", rest);
}

function baseFolders({ project, home, env, platform }: ConfigFolders): Readonly<Record<string, string>> {
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

/** Detects the format and the project folder of an explicitly passed file by its path. */
export function detectFormat(file: string): { readonly format: ConfigFormatName; readonly folder: string } {
  const path = file.replaceAll("\\", "/").toLowerCase();
  const [best] = CONFIG_LOCATIONS.map((location) => ({ ...location, rest: relativeRest(location.path) }))
    .filter(({ rest }) => path.endsWith(`/${rest.toLowerCase()}`))
    .toSorted((a, b) => b.rest.length - a.rest.length);
  if (best === undefined) return { format: "mcp-json", folder: dirname(file) };
  const levels = best.scope === "project" ? best.rest.split("/").length : 1;
  return { format: best.format, folder: resolve(file, ...Array<string>(levels).fill("..")) };
}

function relativeRest(location: string): string {
  return location.slice(location.indexOf("/") + 1);
}
