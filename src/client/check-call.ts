import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { zodToIssues } from "../config/zod-issues.js";
import { HEADERS } from "../config/header-schema.js";
import { PLAIN_WORDS } from "../config/zod-error-map.js";
import { type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CallToolOptions, checkOptions, type ToolCall } from "./call-options.js";

/**
 * A caller in plain JavaScript can pass anything; the server should not be the one to find out, nor
 * should it show only after the tool has run.
 */
export function checkCall(server: string, call: ToolCall, options: CallToolOptions): void {
  const wrong = (message: string) => new McpRuntimeError("invalid-config", message, { server });
  if (typeof call?.name !== "string")
    throw wrong("callTool needs the name of a tool: callTool({ name, args }).");
  const { args } = call;
  if (args !== undefined && !isPlain(args))
    throw wrong(`The arguments of tool "${call.name}" must be an object, found ${describeValue(args)}.`);
  checkOptions(server, options);
  const issues = issuesOf(options);
  if (issues.length > 0) throw configError(`The call of tool "${call.name}"`, issues, { server });
}

/** A promise is none: it would be sent as an empty one. */
function isPlain(args: unknown): boolean {
  return typeof args === "object" && args !== null && !Array.isArray(args) && !(args instanceof Promise);
}

/** All of them together. */
function issuesOf(options: CallToolOptions): ConfigIssue[] {
  const { onProgress, output, idempotent, input, meta, secrets, headers } = options;
  const issues: ConfigIssue[] = [];
  const complain = (path: string, expected: string, found: unknown) =>
    issues.push({ path, message: `expected ${expected}, found ${describeValue(found)}` });
  if (onProgress !== undefined && typeof onProgress !== "function")
    complain("onProgress", "a function", onProgress);
  if (output !== undefined && !isSchema(output)) complain("output", "a schema, such as one of zod", output);
  if (idempotent !== undefined && typeof idempotent !== "boolean")
    complain("idempotent", "true or false", idempotent);
  if (input !== undefined && !isPlain(input)) complain("input", "an object", input);
  if (meta !== undefined && !isPlain(meta)) complain("meta", "an object", meta);
  if (secrets !== undefined && !areTexts(secrets)) complain("secrets", "a list of texts", secrets);
  if (headers !== undefined) issues.push(...issuesOfHeaders(headers));
  return issues;
}

function issuesOfHeaders(headers: unknown): ConfigIssue[] {
  const { error } = HEADERS.safeParse(headers, PLAIN_WORDS);
  return error === undefined ? [] : zodToIssues(error, ["headers"]);
}

function isSchema(value: unknown): boolean {
  return typeof Reflect.get(Object(Reflect.get(Object(value), "~standard")), "validate") === "function";
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
