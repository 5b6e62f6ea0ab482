import type { Logger } from "../../telemetry/logger.js";
import type { Terminal } from "./terminal.js";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** Creates a logger with the format and levels of the library. */
export function createStderrLogger(env: Terminal["env"], write: (text: string) => void): Logger {
  const configured = LEVELS.findIndex((level) => level === env["LANGCHAIN_MCP_LOG"]?.toLowerCase());
  const threshold = configured === -1 ? LEVELS.indexOf("warn") : configured;
  const createMethod = (level: (typeof LEVELS)[number]) => (message: string) => {
    if (LEVELS.indexOf(level) >= threshold) write(`[langchain-mcp-runtime] ${level}: ${message}`);
  };
  return {
    debug: createMethod("debug"),
    info: createMethod("info"),
    warn: createMethod("warn"),
    error: createMethod("error"),
  };
}

/** Discards log lines, for commands that report warnings as findings. */
export const SILENT_LOGGER: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
