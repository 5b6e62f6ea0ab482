import { definitionError, describeFound, toIssues } from "../definitions/definition-issues.js";
import { HEADERS } from "../definitions/header-schema.js";
import { PLAIN_WORDS } from "../definitions/plain-words.js";
import { type DefinitionIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CallToolOptions, checkOptions, type ToolCall } from "./call-tool.js";

/**
 * A caller in plain JavaScript can pass anything; the server should not be the one to find out, nor
 * should it show only after the tool has run.
 */
export function checkCall(server: string, call: ToolCall, options: CallToolOptions): void {
  const wrong = (message: string) => new McpRuntimeError("definition", message, { server });
  if (typeof call?.name !== "string")
    throw wrong("callTool needs the name of a tool: callTool({ name, args }).");
  const { args } = call;
  if (args !== undefined && !isPlain(args))
    throw wrong(`The arguments of tool "${call.name}" must be an object, found ${describeFound(args)}.`);
  checkOptions(server, options);
  const issues = issuesOf(options);
  if (issues.length > 0) throw definitionError(`The call of tool "${call.name}"`, issues, { server });
}

/** A promise is none: it would be sent as an empty one. */
function isPlain(args: unknown): boolean {
  return typeof args === "object" && args !== null && !Array.isArray(args) && !(args instanceof Promise);
}

const EXPECTED = {
  onProgress: ["a function", (value: unknown) => typeof value === "function"],
  output: ["a schema, such as one of zod", isSchema],
  idempotent: ["true or false", (value: unknown) => typeof value === "boolean"],
  input: ["an object", isPlain],
  meta: ["an object", isPlain],
  secrets: ["a list of texts", areTexts],
} as const;

const NAMES = Object.keys(EXPECTED) as (keyof typeof EXPECTED)[];

function issuesOf(options: CallToolOptions): DefinitionIssue[] {
  const issues: DefinitionIssue[] = [];
  for (const path of NAMES) {
    const value = options[path];
    const [expected, isRight] = EXPECTED[path];
    if (value !== undefined && !isRight(value))
      issues.push({ path, message: `expected ${expected}, found ${describeFound(value)}` });
  }
  const { headers } = options;
  const parsed = headers === undefined ? undefined : HEADERS.safeParse(headers, PLAIN_WORDS);
  return parsed?.error === undefined ? issues : [...issues, ...toIssues(parsed.error, ["headers"])];
}

function isSchema(value: unknown): boolean {
  return typeof Reflect.get(Object(Reflect.get(Object(value), "~standard")), "validate") === "function";
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
