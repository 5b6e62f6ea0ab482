const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
type Level = (typeof LEVELS)[number];

/** Where this package speaks. `console` fits. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /** Whether `debug` is worth a line for every request. A logger that does not say gets none of these. */
  isDebugEnabled?(): boolean;
}

/** Warnings and errors go to the console; `LANGCHAIN_MCP_LOG=debug` shows more, `silent` nothing. */
export function createConsoleLogger(level: string | undefined = process.env["LANGCHAIN_MCP_LOG"]): Logger {
  const from = LEVELS.indexOf((level?.toLowerCase() ?? "warn") as Level);
  const threshold = from === -1 ? LEVELS.indexOf("warn") : from;
  const write = (at: Exclude<Level, "silent">) => (message: string) => {
    // Everything goes to stderr: a program's output is its own.
    if (LEVELS.indexOf(at) >= threshold) console.error(`[langchain-mcp-runtime] ${at}: ${message}`);
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    isDebugEnabled: () => threshold === LEVELS.indexOf("debug"),
  };
}
