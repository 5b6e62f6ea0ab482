import type { ApprovalCondition, ToolRule } from "../config/tool-rules.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { compareSchemas } from "../json-schema/diff/compare-schemas.js";
import { CHANGE_TEXTS } from "../json-schema/diff/parameter-change.js";
import { coerceArguments } from "../json-schema/coerce-arguments.js";
import { type ArgumentIssue, describeActualType } from "../json-schema/explain-validation.js";
import { StepLimitError } from "../json-schema/step-budget.js";
import { describeValue } from "../json/describe-value.js";
import { isDeepEqual, isPlainObject, isPromiseLike, type JsonObject } from "../json/json.js";
import { collectTexts, MASK } from "./argument-injector.js";
import { GraphTask } from "./graph-task.js";
import { parseBeforeCallResult } from "./hook-results.js";
import { callError, deniedError, isGraphBubbleUp } from "./tool-failure.js";
import type { BeforeToolCallInput, BeforeToolCallResult } from "./tool-options.js";
import type { PreparedCall, ToolRun, ToolRuntime } from "./tool-run.js";

/** Runs everything that precedes a call, except its approval. Synchronous when no user code and no lookup is involved. */
export function prepareCall(run: ToolRun): PreparedCall | Promise<PreparedCall> {
  const { refreshSchemaBeforeCall, rule, settings, schema } = run.runtime;
  const isSync = !refreshSchemaBeforeCall && rule.args === undefined && settings.beforeToolCall === undefined;
  if (!isSync) return prepareAsync(run);
  return finishPreparation(run, injectProperties(run, schema.defaults.apply(parseArguments(run))), undefined);
}

/** Refreshes the schema, injects the rule's arguments and calls `beforeToolCall`, in this order. */
async function prepareAsync(run: ToolRun): Promise<PreparedCall> {
  const { runtime } = run;
  if (runtime.refreshSchemaBeforeCall) await refreshSchema(run);
  const { args: sources } = runtime.rule;
  const modelArgs = parseArguments(run);
  const allArgs = sources === undefined ? modelArgs : await injectArguments(run, sources, modelArgs);
  const args = injectProperties(run, runtime.schema.defaults.apply(allArgs));
  const changes = await runBeforeToolCall(run, args);
  if (changes.args !== undefined) run.addSecrets(collectCallSecrets(runtime, changes.args));
  return finishPreparation(run, changes.args ?? args, changes.headers);
}

/** Returns what `beforeToolCall` changes. Throws if it denies the call. */
async function runBeforeToolCall(run: ToolRun, args: JsonObject): Promise<BeforeToolCallResult> {
  const { runtime } = run;
  const { beforeToolCall: hook } = runtime.settings;
  if (hook === undefined) return {};
  const result: unknown = await runHook(run, "beforeToolCall", () => hook(toCallPreview(run, args)));
  const changes = parseBeforeCallResult(runtime, result);
  if (changes.deny !== undefined) throw deniedError(runtime, changes.deny);
  return changes;
}

function finishPreparation(
  run: ToolRun,
  args: JsonObject,
  headers: BeforeToolCallResult["headers"],
): PreparedCall | Promise<PreparedCall> {
  assertArguments(run, args);
  const isRequired = needsApproval(run, args);
  return typeof isRequired === "boolean"
    ? { args, headers, needsApproval: isRequired }
    : isRequired.then((required) => ({ args, headers, needsApproval: required }));
}

/** Whether the rule requires approval for some arguments. */
export function mayNeedApproval({ approval }: ToolRuntime): boolean {
  return approval.length > 0;
}

/**
 * Whether a call with these arguments needs approval. Fails closed: a function that throws or returns anything but
 * `false` requires it. Synchronous unless the rule has a function.
 */
function needsApproval(run: ToolRun, args: JsonObject): boolean | Promise<boolean> {
  const { approval, schema } = run.runtime;
  if (approval.length === 0) return false;
  const isRequired = approval.some(
    (condition) => condition === true || (condition === "unless-read-only" && !schema.isReadOnly),
  );
  const conditions = approval.filter((condition) => typeof condition === "function");
  return isRequired || conditions.length === 0
    ? isRequired
    : requireAny({ hook: "requireApproval", conditions }, run, args).then(
        (isRequiredNow) => isRequiredNow || wasApprovalRequested(run),
      );
}

/** The graph may be resumed by a caller who needs no approval: a decision about the call counts all the same. */
async function wasApprovalRequested({ context: { toolCallId, runConfig } }: ToolRun): Promise<boolean> {
  return toolCallId !== undefined && (await new GraphTask(runConfig).hasRequestedApproval(toolCallId));
}

interface RuleConditions {
  readonly hook: "requireApproval" | "durable";
  readonly conditions: readonly Extract<ApprovalCondition, (...args: never) => unknown>[];
}

/** Whether one of the functions of a rule returns anything but `false`, or throws. */
export async function requireAny(
  { hook, conditions }: RuleConditions,
  run: ToolRun,
  args: JsonObject,
): Promise<boolean> {
  const { context, cancellation } = run;
  for (const condition of conditions) {
    try {
      const isRequired: unknown = await runHook(run, hook, () =>
        condition(structuredClone(args), context.toPlainContext()),
      );
      if (isRequired !== false) return true;
    } catch (error) {
      cancellation.throwIfCancelled();
      if (isGraphBubbleUp(error)) throw error;
      return true;
    }
  }
  return false;
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
  assertArguments(run, args);
  return { ...prepared, args };
}

const CHANGED_EDITS =
  "a person has edited its arguments, and beforeToolCall would change them. Call it again to request approval again.";

/**
 * Calls `beforeToolCall` with the arguments of a reviewer: it may guard calls by their arguments, and derive headers from
 * them. What is sent has to be what the reviewer has approved.
 */
export async function guardEdits(run: ToolRun, edited: PreparedCall): Promise<PreparedCall> {
  if (run.runtime.settings.beforeToolCall === undefined) return edited;
  const { args = edited.args, headers } = await runBeforeToolCall(run, edited.args);
  if (!isDeepEqual(args, edited.args)) throw deniedError(run.runtime, CHANGED_EDITS);
  return { ...edited, headers };
}

/** Returns the arguments for a reviewer: with `***` for those of the rule and for the agent's sensitive ones. */
export function maskArguments({ rule, schema }: ToolRuntime, args: JsonObject): JsonObject {
  const masked = schema.injector.mask(args);
  const injected = Object.keys(rule.args ?? {}).filter((name) => Object.hasOwn(masked, name));
  return { ...masked, ...Object.fromEntries(injected.map((name) => [name, MASK])) };
}

/** Removes the rule's injected arguments and masks the agent's sensitive ones. */
export function toModelVisibleArgs({ rule, schema }: ToolRuntime, args: JsonObject): JsonObject {
  const visible = Object.entries(args).filter(([name]) => !Object.hasOwn(rule.args ?? {}, name));
  return schema.injector.mask(Object.fromEntries(visible));
}

/** Returns the model's arguments, converted before a hook or a reviewer sees them: what they check is what is sent. */
function parseArguments(run: ToolRun): JsonObject {
  const { runtime, args } = run;
  if (isPlainObject(args)) return runtime.settings.coerceArguments ? convertArguments(run, args) : args;
  throw invalidArgumentsError(runtime, [
    { path: "", message: `expected an object, got ${describeValue(args)}` },
  ]);
}

function convertArguments(run: ToolRun, args: JsonObject): JsonObject {
  const { args: converted, changes } = coerceArguments(run.runtime.schema.inputValidator, args);
  const lines = changes.map(({ path, value }) => `${path} to ${describeActualType(value)}`);
  if (lines.length > 0) run.notice = `Arguments sent as strings were converted: ${lines.join("; ")}.`;
  return converted;
}

/**
 * Applies the agent's argument properties. `configurable.agentInput` of the run takes precedence over the
 * factory's `agentInput`.
 */
function injectProperties(run: ToolRun, args: JsonObject): JsonObject {
  const { injector } = run.runtime.schema;
  if (injector.isEmpty) return args;
  try {
    const injected = injector.inject(args, getAgentInput(run));
    run.addSecrets(injector.collectSecrets(injected));
    return injected;
  } catch (error) {
    throw toInjectionError(run.runtime, error);
  }
}

/** An agent definition chooses the paths, and may repeat a value any number of times. */
function toInjectionError(runtime: ToolRuntime, error: unknown): unknown {
  if (!(error instanceof StepLimitError)) return error;
  const text = `The call to tool "${runtime.schema.info.name}" was not sent: its argumentProperties create too many values (${error.message}). Use fewer or shorter arrays, wildcards and texts.`;
  return callError(runtime, "invalid-config", text);
}

/** The values that the model must not see: sensitive arguments and those of the rule. */
function collectCallSecrets(runtime: ToolRuntime, args: JsonObject): string[] {
  const { injector } = runtime.schema;
  const { rule } = runtime;
  const ruleSecrets = Object.keys(rule.args ?? {}).flatMap((name) => collectTexts(args[name]));
  try {
    return [...injector.collectSecrets(args), ...ruleSecrets];
  } catch (error) {
    throw toInjectionError(runtime, error);
  }
}

function getAgentInput({ runtime, context }: ToolRun): JsonObject {
  const runInput: unknown = context.runConfig.configurable?.["agentInput"];
  return isPlainObject(runInput) ? runInput : runtime.agentInput;
}

/** Adds the rule's arguments. The model's value for one of them is dropped, even when the rule has no value for it. */
async function injectArguments(
  run: ToolRun,
  sources: NonNullable<ToolRule["args"]>,
  input: JsonObject,
): Promise<JsonObject> {
  const visible = Object.entries(input).filter(([name]) => !Object.hasOwn(sources, name));
  const names = Object.keys(sources);
  const keepSecrets = (value: unknown): unknown => {
    run.addSecrets(collectTexts(value));
    return value;
  };
  const values = await runHook(run, "args", () => {
    const resolved = names.map((name) => resolveSource(sources[name], run.context, keepSecrets));
    return resolved.some(isPromiseLike) ? Promise.all(resolved) : resolved;
  });
  const injected = names.map((name, index) => [name, values[index]] as const);
  return Object.fromEntries([...visible, ...injected.filter(([, value]) => value !== undefined)]);
}

/** What a function or `keep` throws is returned as a rejection: the promises of the others must not stay unhandled. */
function resolveSource(
  source: NonNullable<ToolRule["args"]>[string] | undefined,
  context: ToolRun["context"],
  keep: (value: unknown) => unknown,
): unknown {
  try {
    const value: unknown = typeof source === "function" ? source(context.toPlainContext()) : source;
    return isPromiseLike(value) ? Promise.resolve(value).then(keep) : keep(value);
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Validates against the server's original schema, unless `inputValidation` is off. Issues in injected arguments are not reported to the model,
 * which neither sees nor can correct them.
 */
function assertArguments(run: ToolRun, args: JsonObject): void {
  const { runtime } = run;
  const { inputValidation } = runtime;
  if (inputValidation === "off") return;
  const { inputValidator } = runtime.schema;
  const issues = inputValidator.validate(args);
  for (const warning of inputValidator.takeWarnings()) runtime.warn(warning);
  if (issues.length === 0) return;
  const visibleIssues = issues.filter(({ path }) => !isInjected(runtime, path));
  if (inputValidation === "warn") return warnInvalid(runtime, issues, visibleIssues);
  if (visibleIssues.length > 0) throw invalidArgumentsError(runtime, visibleIssues);
  const names = [...new Set(issues.map(({ path }) => rootProperty(path)))].join(", ");
  const missing = runtime.schema.injector.describeMissing(getAgentInput(run)).map((text) => ` ${text}.`);
  runtime.warn(`The injected value of ${names} does not match the input schema.${missing.join("")}`);
  throw deniedError(
    runtime,
    `an injected argument (${names}) does not match the input schema.${missing.join("")} Only the operator can fix this.`,
  );
}

/** Injected values are not logged. */
function warnInvalid(
  runtime: ToolRuntime,
  issues: readonly ArgumentIssue[],
  visible: readonly ArgumentIssue[],
): void {
  const injected = issues.filter((issue) => !visible.includes(issue)).map(({ path }) => `${path} (injected)`);
  const lines = [...describeIssues(visible), ...injected].join("; ");
  runtime.warn(`The arguments do not match the input schema; the call is sent: ${lines}`);
}

function describeIssues(issues: readonly ArgumentIssue[]): string[] {
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
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
  const lines = describeIssues(issues).map((line) => `- ${line}`);
  return callError(runtime, "invalid-request", [summary, ...lines].join("\n"), { issues });
}

/** A tool list that is younger than this is not fetched again before a call. */
const MAX_AGE_MS = 300_000;
/** How long a call waits for a newer tool list. */
const MAX_WAIT_MS = 10_000;

/**
 * Compares a tool that was saved with an agent to the server's current version. Additive changes are ignored.
 * On a breaking change the call fails with the new parameters, for the model to retry, and the tool keeps them.
 */
async function refreshSchema({ runtime, context, cancellation }: ToolRun): Promise<void> {
  const { server, lookup, caller, schema, warn } = runtime;
  const { name } = schema.info;
  const location = await lookup.find(name, {
    caller: { context },
    cancellation,
    maxAgeMs: MAX_AGE_MS,
    waitMs: MAX_WAIT_MS,
  });
  if (location.state === "unknown") {
    warn(
      `The saved schema could not be compared with the server's and is used as it is: ${printValue(location.error)}`,
    );
    return;
  }
  if (location.state === "unlisted") {
    const text = `Server "${server}" no longer has a tool "${name}". It was not called.`;
    throw callError(runtime, "not-found", text);
  }
  // The parameters of an unapproved version are not shown to the model.
  caller.assertNotBlocked?.(name);
  const { severity, parameters } = compareSchemas(schema.info.inputSchema, location.info.inputSchema);
  if (severity !== "breaking") return;
  runtime.schema = schema.withInfo(location.info);
  const modelSchema = JSON.stringify(runtime.schema.modelSchema());
  const text = `The parameters of tool "${name}" have changed; the tool was not called. Its parameters are now: ${modelSchema}`;
  const issues = parameters.map(({ parameter, what }) => ({
    path: stripHiddenCharacters(parameter),
    message: CHANGE_TEXTS[what],
  }));
  throw callError(runtime, "invalid-request", text, { issues });
}

/** The options whose functions a run waits for. The last three are fields of a rule. */
type HookName =
  | "filter"
  | "beforeToolCall"
  | "afterToolCall"
  | "meta"
  | "args"
  | "requireApproval"
  | "durable";

/** Runs a hook or a rule's function until it settles, the call is cancelled, or the time for the hooks of the run is over. */
export async function runHook<T>(run: ToolRun, hook: HookName, work: () => T | Promise<T>): Promise<T> {
  const { cancellation } = run;
  cancellation.throwIfCancelled();
  const returned = work();
  if (isPromiseLike(returned)) return run.waitForHook(returned, () => hookTimeoutError(run, hook));
  cancellation.throwIfCancelled();
  return returned;
}

/** A hook after the call withholds its result; with one before the call, nothing was sent. Logs a warning. */
function hookTimeoutError({ runtime }: ToolRun, hook: HookName): McpRuntimeError {
  const subject = `Tool "${runtime.schema.info.name}" of server "${runtime.server}"`;
  const reason = `${hook} did not settle in time. The hooks of a call may take ${runtime.caller.totalMs} ms together (timeouts.totalMs).`;
  runtime.warn(reason);
  if (hook !== "afterToolCall")
    return callError(runtime, "timeout", `${subject} was not called, and nothing was sent: ${reason}`);
  const text = `${subject} ran, but its result is withheld: ${reason}`;
  return callError(runtime, "invalid-response", text, { attempts: 1 });
}
