import { describeValue } from "../json/describe-value.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
type Level = (typeof LEVELS)[number];

/** Receives the log messages of this package. `console` implements it. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /**
   * Whether to log every request with `debug`.
   *
   * @default () => false
   */
  isDebugEnabled?(): boolean;
}

/** Logs to stderr, at level `warn` unless the environment variable `LANGCHAIN_MCP_LOG` sets another. */
export function createConsoleLogger(level: string | undefined = process.env["LANGCHAIN_MCP_LOG"]): Logger {
  const index = LEVELS.indexOf((level?.toLowerCase() ?? "warn") as Level);
  const threshold = index === -1 ? LEVELS.indexOf("warn") : index;
  const write = (messageLevel: Exclude<Level, "silent">) => (message: string) => {
    // Always stderr, since stdout belongs to the application.
    if (LEVELS.indexOf(messageLevel) >= threshold)
      console.error(`[langchain-mcp-runtime] ${messageLevel}: ${message}`);
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    isDebugEnabled: () => threshold === LEVELS.indexOf("debug"),
  };
}

/**
 * Identifies a warning for programs.
 * - `stdout-noise`: a stdio server wrote non-protocol output to stdout
 */
export type WarningCode = "stdout-noise";

/** Receives log output of a server. */
export interface ServerLog {
  info(message: string): void;
  warn(message: string, code?: WarningCode): void;
}

const LOGGER_METHODS = ["debug", "info", "warn", "error"];

/** Validates a logger up front: an invalid one would fail only when the first message is logged. */
export function validateLogger(logger: unknown): ConfigIssue[] {
  if (logger === undefined) return [];
  const isLogger = LOGGER_METHODS.every((name) => typeof Reflect.get(Object(logger), name) === "function");
  const message = `expected an object with ${LOGGER_METHODS.join(", ")}, such as console, got ${describeValue(logger)}`;
  return isLogger ? [] : [{ path: "logger", message }];
}
