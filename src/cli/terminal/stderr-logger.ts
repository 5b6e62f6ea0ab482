import type { Logger } from "../../telemetry/logger.js";
import type { Terminal } from "./terminal.js";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** As the library's own logger, by way of whoever draws on the terminal. */
export function createStderrLogger(env: Terminal["env"], write: (text: string) => void): Logger {
  const wanted = LEVELS.findIndex((level) => level === env["LANGCHAIN_MCP_LOG"]?.toLowerCase());
  const threshold = wanted === -1 ? LEVELS.indexOf("warn") : wanted;
  const at = (level: (typeof LEVELS)[number]) => (message: string) => {
    if (LEVELS.indexOf(level) >= threshold) write(`[langchain-mcp-runtime] ${level}: ${message}`);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
