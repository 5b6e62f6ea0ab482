import type { CancelScope } from "../async/cancel-scope.js";
import type { ToolRule } from "../config/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { compareSchemas, type ParameterChangeKind } from "../json-schema/compare-schemas.js";
import type { ArgumentIssue } from "../json-schema/explain-validation.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { callError, deniedError } from "./tool-failure.js";
import type { AfterToolCallResult, BeforeToolCallInput, BeforeToolCallResult } from "./tool-options.js";
import { needsApproval } from "./tool-policy.js";
import type { PreparedCall, ToolRun, ToolRuntime } from "./tool-run.js";

/** Runs everything that precedes a call, except its approval. Synchronous when no user code and no lookup is involved. */
export function prepareCall(run: ToolRun): PreparedCall | Promise<PreparedCall> {
  const { refreshSchemaBeforeCall, rule, settings, schema } = run.runtime;
  const isSync = !refreshSchemaBeforeCall && rule.args === undefined && settings.beforeToolCall === undefined;
  if (!isSync) return prepareAsync(run);
  return finishPreparation(run, injectProperties(run, schema.defaults.apply(parseArguments(run))));
}

/** Refreshes the schema, injects the rule's arguments and calls `beforeToolCall`, in this order. */
async function prepareAsync(run: ToolRun): Promise<PreparedCall> {
  const { runtime, cancellation } = run;
  if (runtime.refreshSchemaBeforeCall) await refreshSchema(run);
  const { args: sources } = runtime.rule;
  const modelArgs = parseArguments(run);
  const allArgs = sources === undefined ? modelArgs : await injectArguments(run, sources, modelArgs);
  const args = injectProperties(run, runtime.schema.defaults.apply(allArgs));
  const { beforeToolCall: hook } = runtime.settings;
  if (hook === undefined) return finishPreparation(run, args);
  const changes = parseBeforeCallResult(await runHook(cancellation, () => hook(toCallPreview(run, args))));
  if (changes.deny !== undefined) throw deniedError(runtime, changes.deny);
  return finishPreparation(run, changes.args ?? args, changes.headers);
}

function finishPreparation(
  { runtime }: ToolRun,
  args: JsonObject,
  headers?: BeforeToolCallResult["headers"],
): PreparedCall {
  assertArguments(runtime, args);
  return { args, headers, needsApproval: needsApproval(runtime, args) };
}

/** The input of hooks. A copy, so that a hook cannot change the call by mutating it. */
export function toCallPreview({ context }: ToolRun, args: JsonObject): BeforeToolCallInput {
  const { server, tool } = context;
  return { server, tool, args: structuredClone(args), context: context.toPlainContext() };
}

/** Replaces the arguments with those of a reviewer, validated. Injected arguments cannot be edited. */
export function applyEdits(run: ToolRun, prepared: PreparedCall, edited: JsonObject): PreparedCall {
  const { rule } = run.runtime;
  const isFromRule = ([name]: readonly [string, unknown]) => Object.hasOwn(rule.args ?? {}, name);
  const editable = Object.entries(structuredClone(edited)).filter((entry) => !isFromRule(entry));
  const injected = Object.entries(prepared.args).filter(isFromRule);
  const args = injectProperties(run, Object.fromEntries([...editable, ...injected]));
  assertArguments(run.runtime, args);
  return { ...prepared, args };
}

/** Removes the rule's injected arguments and masks the agent's sensitive ones. */
export function toModelVisibleArgs({ rule, schema }: ToolRuntime, args: JsonObject): JsonObject {
  const visible = Object.entries(args).filter(([name]) => !Object.hasOwn(rule.args ?? {}, name));
  return schema.injector.mask(Object.fromEntries(visible));
}

function parseArguments({ runtime, args }: ToolRun): JsonObject {
  if (isPlainObject(args)) return args;
  throw invalidArgumentsError(runtime, [
    { path: "", message: `expected an object, got ${describeValue(args)}` },
  ]);
}

/**
 * Applies the agent's argument properties. `configurable.agentInput` of the run takes precedence over the
 * factory's `agentInput`.
 */
function injectProperties({ runtime, context }: ToolRun, args: JsonObject): JsonObject {
  const { injector } = runtime.schema;
  if (injector.isEmpty) return args;
  const runInput: unknown = context.runConfig.configurable?.["agentInput"];
  return injector.inject(args, isPlainObject(runInput) ? runInput : runtime.agentInput);
}

/** Adds the rule's arguments. The model's value for one of them is dropped, even when the rule has no value for it. */
async function injectArguments(
  { context, cancellation }: ToolRun,
  sources: NonNullable<ToolRule["args"]>,
  input: JsonObject,
): Promise<JsonObject> {
  const visible = Object.entries(input).filter(([name]) => !Object.hasOwn(sources, name));
  const resolveValue = async (source: (typeof sources)[string]): Promise<unknown> =>
    typeof source === "function" ? runHook(cancellation, () => source(context.toPlainContext())) : source;
  const injected = await Promise.all(
    Object.entries(sources).map(async ([name, source]) => [name, await resolveValue(source)] as const),
  );
  return Object.fromEntries([...visible, ...injected.filter(([, value]) => value !== undefined)]);
}

/**
 * Validates against the server's original schema. Issues in injected arguments are not reported to the model,
 * which neither sees nor can correct them.
 */
function assertArguments(runtime: ToolRuntime, args: JsonObject): void {
  const { inputValidator } = runtime.schema;
  const issues = inputValidator.validate(args);
  for (const warning of inputValidator.takeWarnings()) runtime.warn(warning);
  if (issues.length === 0) return;
  const visibleIssues = issues.filter(({ path }) => !isInjected(runtime, path));
  if (visibleIssues.length > 0) throw invalidArgumentsError(runtime, visibleIssues);
  const names = [...new Set(issues.map(({ path }) => rootProperty(path)))].join(", ");
  runtime.warn(`The injected value of ${names} does not match the input schema.`);
  throw deniedError(
    runtime,
    `an injected argument (${names}) does not match the input schema. Only the operator can fix this.`,
  );
}

function isInjected({ rule, schema: { injector } }: ToolRuntime, path: string): boolean {
  const name = rootProperty(path);
  return Object.hasOwn(rule.args ?? {}, name) || injector.injectedNames.has(name);
}

/** `items[2].price` -> `items`. */
function rootProperty(path: string): string {
  return /^[^.[]+/.exec(path)?.[0] ?? path;
}

function invalidArgumentsError(runtime: ToolRuntime, issues: readonly ArgumentIssue[]): McpRuntimeError {
  const summary = `The arguments of tool "${runtime.schema.info.name}" are invalid; the tool was not called:`;
  const lines = issues.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`));
  return callError(runtime, "invalid-request", [summary, ...lines].join("\n"), { issues });
}

/** A tool list that is younger than this is not fetched again before a call. */
const MAX_AGE_MS = 300_000;
/** How long a call waits for a newer tool list. */
const MAX_WAIT_MS = 10_000;

const CHANGE_TEXTS: Readonly<Record<ParameterChangeKind, string>> = {
  added: "is new and optional",
  required: "is now required",
  removed: "was removed",
  type: "now accepts other values",
  changed: "has changed",
};

/**
 * Compares a tool that was saved with an agent to the server's current version. Additive changes are ignored.
 * On a breaking change the call fails with the new parameters, for the model to retry, and the tool keeps them.
 */
async function refreshSchema({ runtime, context, cancellation }: ToolRun): Promise<void> {
  const { server, lookup, schema, warn } = runtime;
  const { name } = schema.info;
  const location = await lookup.find(name, {
    caller: { context },
    cancellation,
    maxAgeMs: MAX_AGE_MS,
    waitMs: MAX_WAIT_MS,
  });
  if (location.state === "unknown") {
    warn(
      `The saved schema could not be compared with the server's and is used as it is: ${String(location.error)}`,
    );
    return;
  }
  if (location.state === "unlisted") {
    const text = `Server "${server}" no longer has a tool "${name}". It was not called.`;
    throw callError(runtime, "not-found", text);
  }
  const { severity, parameters } = compareSchemas(schema.info.inputSchema, location.info.inputSchema);
  if (severity !== "breaking") return;
  runtime.schema = schema.withInfo(location.info);
  const modelSchema = JSON.stringify(runtime.schema.modelSchema());
  const text = `The parameters of tool "${name}" have changed; the tool was not called. Its parameters are now: ${modelSchema}`;
  const issues = parameters.map(({ parameter, what }) => ({ path: parameter, message: CHANGE_TEXTS[what] }));
  throw callError(runtime, "invalid-request", text, { issues });
}

/** Runs a hook or a rule's function until it settles or the call is cancelled. */
export function runHook<T>(cancellation: CancelScope, work: () => T | Promise<T>): Promise<T> {
  cancellation.throwIfCancelled();
  return cancellation.race((async () => work())());
}

/** @throws McpRuntimeError `invalid-config`: the mistake is in the user's code, not in the model's call. */
function parseBeforeCallResult(changes: unknown): BeforeToolCallResult {
  if (changes === undefined || changes === null) return {};
  if (!isPlainObject(changes))
    throw hookError("beforeToolCall", `{ args, headers, deny }, got ${describeValue(changes)}`);
  const { args, headers, deny } = changes;
  if (args !== undefined && !isPlainObject(args))
    throw hookError("beforeToolCall", `args as an object, got ${describeValue(args)}`);
  if (deny !== undefined && typeof deny !== "string")
    throw hookError("beforeToolCall", `deny as a string, got ${describeValue(deny)}`);
  const areHeaders =
    headers === undefined ||
    (isPlainObject(headers) && Object.values(headers).every((value) => typeof value === "string"));
  if (!areHeaders) throw hookError("beforeToolCall", "headers as an object of strings");
  return changes;
}

/** @throws McpRuntimeError `invalid-config` */
export function parseAfterCallResult(changes: unknown): Partial<AfterToolCallResult> | undefined {
  if (changes === undefined || changes === null) return undefined;
  if (!isPlainObject(changes)) throw hookError("afterToolCall", `a result, got ${describeValue(changes)}`);
  const { content } = changes;
  const areBlocks = content === undefined || (Array.isArray(content) && content.every(isBlock));
  if (!areBlocks) throw hookError("afterToolCall", "content as an array of blocks, each with a type");
  return changes;
}

function isBlock(block: unknown): block is JsonObject {
  return isPlainObject(block) && typeof block["type"] === "string";
}

function hookError(hook: string, expected: string): McpRuntimeError {
  return new McpRuntimeError("invalid-config", `${hook} must return ${expected}.`);
}
