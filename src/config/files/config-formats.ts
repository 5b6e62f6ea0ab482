/** How a client's file is read. */
export interface ConfigFormat {
  readonly client: string;
  /** Where its servers stand; the first key that is there counts. */
  readonly keys: readonly string[];
  /** What a `url` is that comes without a `type`. */
  readonly urlMeans: "http" | "sse";
  /** What its `timeout` counts. */
  readonly timeoutUnitMs: number;
  /** Whether `$NAME` is a variable, too. */
  readonly hasBareVariables: boolean;
  /** Whether names may stand at the top, without a key around them. */
  readonly isBareMap: boolean;
}

const COMMON: Omit<ConfigFormat, "client"> = {
  keys: ["mcpServers"],
  urlMeans: "http",
  timeoutUnitMs: 1,
  hasBareVariables: false,
  isBareMap: false,
};

/** Every format that is read. They agree on most things; what they do not agree on stands here. */
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

export type ConfigFormatName = keyof typeof CONFIG_FORMATS;
