import { definitionError, describeFound } from "../definitions/definition-issues.js";

/** Those of the protocol, the least important first. */
const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Servers answer one that they do not know with any failure, also with one that counts against them. */
export function checkLogLevel(server: string, level: LogLevel): void {
  if (LOG_LEVELS.includes(level)) return;
  const message = `expected one of ${LOG_LEVELS.join(", ")}, found ${describeFound(level)}`;
  throw definitionError("The log level", [{ path: "", message }], { server });
}
