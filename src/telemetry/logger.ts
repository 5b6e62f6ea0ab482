import { MAX_MESSAGE_LENGTH, type TextRedactor } from "../errors/redaction.js";
import { ignoreRejection, isPromiseLike } from "../json/json.js";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
type Level = (typeof LEVELS)[number];

/**
 * Receives the log messages of this package. `console` implements it. What a method returns is ignored, and so are its
 * failures, also those of a promise.
 */
export interface Logger {
  /** Details for troubleshooting, such as each request if `isDebugEnabled` returns true. */
  debug(message: string): void;
  /** Normal events, such as log output of a server. */
  info(message: string): void;
  /** Problems that were handled, such as an invalid entry of a store that is ignored. */
  warn(message: string): void;
  /** Failures that no caller receives, such as an exception in an event listener. */
  error(message: string): void;
  /**
   * Whether to log every request with `debug`.
   *
   * @default () => false
   */
  isDebugEnabled?(): boolean;
}

/** Logs to stderr, at level `warn` unless the environment variable `LANGCHAIN_MCP_LOG` sets another. */
export function createConsoleLogger(
  level: string | undefined = process.env["LANGCHAIN_MCP_LOG"],
  // Always stderr, since stdout belongs to the application.
  writeLine: (line: string) => void = (line) => console.error(line),
): Logger {
  const index = LEVELS.indexOf((level?.toLowerCase() ?? "warn") as Level);
  const threshold = index === -1 ? LEVELS.indexOf("warn") : index;
  const write = (messageLevel: Exclude<Level, "silent">) => (message: string) => {
    if (LEVELS.indexOf(messageLevel) >= threshold)
      writeLine(`[langchain-mcp-runtime] ${messageLevel}: ${message}`);
  };
  return toSafeLogger({
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    isDebugEnabled: () => threshold === LEVELS.indexOf("debug"),
  });
}

/**
 * Returns a logger whose methods neither throw nor return anything: a logger that fails, also asynchronously, must not
 * fail a call or end the process.
 */
export function toSafeLogger(logger: Logger): Logger {
  if (safeLoggers.has(logger)) return logger;
  const log = (level: Exclude<Level, "silent">) => (message: string) => {
    try {
      const returned: unknown = logger[level](message);
      if (isPromiseLike(returned)) ignoreRejection(returned);
    } catch {
      // There is no other place to report it.
    }
  };
  const isDebugEnabled = () => {
    try {
      const isEnabled: unknown = logger.isDebugEnabled?.();
      if (isPromiseLike(isEnabled)) ignoreRejection(isEnabled);
      return isEnabled === true;
    } catch {
      return false;
    }
  };
  const safe = {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    isDebugEnabled,
  };
  safeLoggers.add(safe);
  return safe;
}

const safeLoggers = new WeakSet<Logger>();

type RedactedMethods = Pick<Logger, "debug" | "warn" | "error">;

/** Returns the methods of a logger that redact what is logged. */
export function redactLogger(logger: RedactedMethods, redactor: TextRedactor): RedactedMethods {
  const log = (level: keyof RedactedMethods) => (message: string) =>
    logger[level](redactor.sanitize(message, MAX_MESSAGE_LENGTH));
  return { debug: log("debug"), warn: log("warn"), error: log("error") };
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
