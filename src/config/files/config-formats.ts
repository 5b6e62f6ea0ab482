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
