import { describeValue } from "../json/describe-value.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";

const METHODS = ["debug", "info", "warn", "error"];

/** What is wrong with a logger: it would only show when there is something to tell. */
export function issuesOfLogger(logger: unknown): ConfigIssue[] {
  if (logger === undefined) return [];
  const isLogger = METHODS.every((name) => typeof Reflect.get(Object(logger), name) === "function");
  const message = `expected an object with ${METHODS.join(", ")}, such as console, found ${describeValue(logger)}`;
  return isLogger ? [] : [{ path: "logger", message }];
}
