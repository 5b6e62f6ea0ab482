import { describeValue, formatPath } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import type { ConfigFormat } from "./config-formats.js";

/** What others have for `tools`: what is allowed, and what is not. */
export const TOOL_LISTS = ["includeTools", "excludeTools", "disabledTools"] as const;

/** What a file says in the words of other clients and cannot be done: none of it is left out in silence. */
export function issuesOfEntry(entry: JsonObject, format: ConfigFormat): ConfigIssue[] {
  return [
    ...["disabled", "enabled", "sandboxEnabled"].flatMap((key) => issuesOfSwitch(key, entry[key])),
    ...issuesOfRefused(entry),
    ...issuesOfTimeout(entry, format),
    ...TOOL_LISTS.flatMap((key) => issuesOfToolList(key, entry[key])),
  ];
}

function issuesOfSwitch(path: string, value: unknown): ConfigIssue[] {
  if (value === undefined || typeof value === "boolean") return [];
  return [{ path, message: `expected true or false, found ${describeValue(value)}` }];
}

function issuesOfRefused({ headersHelper, sandboxEnabled }: JsonObject): ConfigIssue[] {
  const command = "is a command, and commands in values are never run: write headers with ${NAME} instead";
  const sandbox = "asks for a sandbox, and there is none here: take it away to start the program without one";
  return [
    ...(headersHelper === undefined ? [] : [{ path: "headersHelper", message: command }]),
    ...(sandboxEnabled === true ? [{ path: "sandboxEnabled", message: sandbox }] : []),
  ];
}

function issuesOfTimeout({ timeout = null }: JsonObject, format: ConfigFormat): ConfigIssue[] {
  if (timeout === null || (typeof timeout === "number" && timeout >= 0)) return [];
  const unit = format.timeoutUnitMs === 1 ? "milliseconds" : "seconds";
  const found = typeof timeout === "number" ? "a number below 0" : describeValue(timeout);
  return [{ path: "timeout", message: `expected how many ${unit} a request may take, found ${found}` }];
}

/** A list that keeps tools away must not go unheard. */
function issuesOfToolList(path: string, names: unknown): ConfigIssue[] {
  if (names === undefined || names === null) return [];
  const isList = Array.isArray(names);
  if (isList && names.every((name) => typeof name === "string")) return [];
  const found = isList ? "a list with something else in it" : describeValue(names);
  return [{ path, message: `expected a list of tool names, found ${found}` }];
}

/** The first of each that is no text: a list can be of any length. */
export function issuesOfTexts(reach: JsonObject): ConfigIssue[] {
  return ["args", "env", "headers"].flatMap((key) => {
    const value = reach[key];
    if (!Array.isArray(value) && !isPlainObject(value)) return [];
    const [at, found] = Object.entries(value).find(([, text]) => typeof text !== "string") ?? [];
    if (at === undefined) return [];
    const path = formatPath([key, Array.isArray(value) ? Number(at) : at]);
    return [{ path, message: `expected a text, found ${describeValue(found)}` }];
  });
}
