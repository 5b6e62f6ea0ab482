import type { CancelScope } from "../async/cancel-scope.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ToolRule } from "../config/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ArgumentIssue } from "../json-schema/schema-validator.js";
import { refusal } from "./denied-error.js";
import type { ToolContext } from "./tool-context.js";
import type { ToolParts } from "./tool-runtime.js";
import { ask } from "./user-hooks.js";

/** The model's arguments; a model may give anything. */
export function checkGiven(parts: ToolParts, given: unknown): JsonObject {
  if (isPlainObject(given)) return given;
  throw badArguments(parts, [{ path: "", message: `expected an object, found ${describeValue(given)}` }]);
}

/** With defaults, and with what the agent fills in. */
export function completeArguments(parts: ToolParts, given: JsonObject, context: ToolContext): JsonObject {
  const { filler, defaults } = parts.schema;
  const args = defaults.complete(given);
  return filler.isEmpty ? args : filler.fill(args, agentInputOf(parts, context));
}

/**
 * With the rule's hidden ones. What is ours to fill in is never the model's to give, also when there is
 * nothing to fill in.
 */
export async function withHidden(
  sources: NonNullable<ToolRule["args"]>,
  given: JsonObject,
  { context, cancellation }: { readonly context: ToolContext; readonly cancellation: CancelScope },
): Promise<JsonObject> {
  const visible = Object.entries(given).filter(([name]) => !Object.hasOwn(sources, name));
  const valueOf = async (source: (typeof sources)[string]): Promise<unknown> =>
    typeof source === "function" ? ask(cancellation, () => source(context.forUser())) : source;
  const hidden = await Promise.all(
    Object.entries(sources).map(async ([name, source]) => [name, await valueOf(source)] as const),
  );
  return Object.fromEntries([...visible, ...hidden.filter(([, value]) => value !== undefined)]);
}

/** The run's own input, where its config brings one; else the one that the factory was given. */
export function agentInputOf({ agentInput }: ToolParts, { runConfig }: ToolContext): JsonObject {
  const own: unknown = runConfig.configurable?.["agentInput"];
  return isPlainObject(own) ? own : agentInput;
}

/** Against the server's own schema. What the model cannot see it is not asked to correct, nor shown. */
export function checkArguments(parts: ToolParts, args: JsonObject): void {
  const { inputCheck } = parts.schema;
  const issues = inputCheck.issuesOf(args);
  for (const warning of inputCheck.newWarnings()) parts.warn(warning);
  if (issues.length === 0) return;
  const ours = issues.filter(({ path }) => isFilledIn(parts, path));
  if (ours.length === issues.length) {
    const names = [...new Set(ours.map(({ path }) => topOf(path)))].join(", ");
    parts.warn(`What is filled in for ${names} does not fit its schema.`);
    throw refusal(
      parts,
      `what is filled in for it (${names}) does not fit. Only its operator can mend that.`,
    );
  }
  throw badArguments(
    parts,
    issues.filter((issue) => !ours.includes(issue)),
  );
}

function isFilledIn({ rule, schema: { filler } }: ToolParts, path: string): boolean {
  const name = topOf(path);
  return Object.hasOwn(rule.args ?? {}, name) || filler.filledNames.has(name);
}

/** `items[2].price` -> `items`. */
function topOf(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? path;
}

function badArguments(
  { schema: { info }, server }: ToolParts,
  issues: readonly ArgumentIssue[],
): McpRuntimeError {
  const lines = issues.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`));
  const text = [`The arguments of tool "${info.name}" are not right, and it was not called:`, ...lines].join(
    "\n",
  );
  return new McpRuntimeError("invalid-request", text, { server, tool: info.name, issues });
}
