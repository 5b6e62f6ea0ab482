import type { Clock } from "../async/clock.js";
import { checkObject } from "../config/assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { Logger } from "../telemetry/logger.js";
import { issuesOfLogger } from "./validate-logger.js";

export interface McpClientOptions {
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** The dice for waits between repetitions, from 0 to 1. */
  readonly random?: (() => number) | undefined;
}

/** Throws kind `definition`: what is wrong would only show in the middle of a call. */
export function checkClientOptions(server: string, options: McpClientOptions): McpClientOptions {
  const subject = "The client";
  const { logger, clock, random } = checkObject(options, { subject, path: "options", server });
  const issues = [...issuesOfLogger(logger)];
  const isClock = ["now", "after"].every((name) => typeof Reflect.get(Object(clock), name) === "function");
  if (clock !== undefined && !isClock)
    issues.push({
      path: "clock",
      message: `expected an object with now, after, found ${describeValue(clock)}`,
    });
  if (random !== undefined && typeof random !== "function")
    issues.push({ path: "random", message: `expected a function, found ${describeValue(random)}` });
  if (issues.length > 0) throw configError(subject, issues, { server });
  return options;
}
