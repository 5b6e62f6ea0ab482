import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";

/** Those of the protocol, the least important first. */
const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

type SendLevel = (method: string, params: JsonObject, details: { isIdempotent: boolean }) => Promise<unknown>;

/** The request for a level. Throws kind `definition` where there is no such level. */
export function askForLogLevel(server: string, level: LogLevel) {
  checkLogLevel(server, level);
  return (send: SendLevel): Promise<unknown> => send("logging/setLevel", { level }, { isIdempotent: true });
}

/** Servers answer one that they do not know with any failure, also with one that counts against them. */
function checkLogLevel(server: string, level: LogLevel): void {
  if (LOG_LEVELS.includes(level)) return;
  const message = `expected one of ${LOG_LEVELS.join(", ")}, found ${describeValue(level)}`;
  throw configError("The log level", [{ path: "", message }], { server });
}
