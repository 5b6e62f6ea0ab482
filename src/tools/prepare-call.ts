import type { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import { type JsonObject, isPlainObject } from "../json/json.js";
import { needsApproval } from "./approval/needs-approval.js";
import { deniedError } from "./tool-failure.js";
import type { BeforeToolCallResult, BeforeToolCallInput } from "./tool-options.js";
import type { ToolRuntime } from "./tool-runtime.js";
import { runHook, parseBeforeCallResult } from "./user-hooks.js";
import { describeValue } from "../json/describe-value.js";
import type { ToolRule } from "../config/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ArgumentIssue } from "../json-schema/schema-validator.js";
import { compareSchemas, type ParameterChangeKind } from "../json-schema/diff.js";

interface CallInput {
  /** As the model sent them: not validated yet. */
  readonly args: unknown;
  readonly context: ToolContext;
}

/** A call that is ready to be sent: injected, validated, and with `beforeToolCall` applied. */
export interface PreparedCall {
  /** The arguments that will be sent. */
  readonly args: JsonObject;
  readonly headers: BeforeToolCallResult["headers"];
  /** Whether these arguments have to be approved first. */
  readonly needsApproval: boolean;
}

/** Runs everything that precedes a call, except its approval. Synchronous when no user code and no lookup is involved. */
export function prepareCall(
  runtime: ToolRuntime,
  call: CallInput,
  cancellation: CancelScope,
): PreparedCall | Promise<PreparedCall> {
  const { refreshSchemaBeforeCall, rule, settings } = runtime;
  const isSync = !refreshSchemaBeforeCall && rule.args === undefined && settings.beforeToolCall === undefined;
  if (!isSync) return prepareAsync(runtime, call, cancellation);
  return finishPreparation(
    runtime,
    applyDefaults(runtime, parseArguments(runtime, call.args), call.context),
    undefined,
  );
}

/** Refreshes the schema, injects the rule's arguments and calls `beforeToolCall`, in this order. */
async function prepareAsync(
  runtime: ToolRuntime,
  { args: input, context }: CallInput,
  cancellation: CancelScope,
): Promise<PreparedCall> {
  if (runtime.refreshSchemaBeforeCall) await refreshSchema(runtime, context, cancellation);
  const { args: sources } = runtime.rule;
  const modelArgs = parseArguments(runtime, input);
  const allArgs =
    sources === undefined ? modelArgs : await injectArguments(sources, modelArgs, { context, cancellation });
  const args = applyDefaults(runtime, allArgs, context);
  const { beforeToolCall: hook } = runtime.settings;
  if (hook === undefined) return finishPreparation(runtime, args, undefined);
  const changes = parseBeforeCallResult(
    await runHook(cancellation, () => hook(toCallPreview(runtime, args, context))),
  );
  if (changes.deny !== undefined) throw deniedError(runtime, changes.deny);
  return finishPreparation(runtime, changes.args ?? args, changes.headers);
}

function finishPreparation(
  runtime: ToolRuntime,
  args: JsonObject,
  headers: BeforeToolCallResult["headers"],
): PreparedCall {
  assertArguments(runtime, args);
  return { args, headers, needsApproval: needsApproval(runtime, args) };
}

/** The input of hooks. A copy, so that a hook cannot change the call by mutating it. */
export function toCallPreview(
  { server, schema: { info } }: ToolRuntime,
  args: JsonObject,
  context: ToolContext,
): BeforeToolCallInput {
  return { server, tool: info.name, args: structuredClone(args), context: context.toPlainContext() };
}

/** Replaces the arguments with those of a reviewer, validated. Injected arguments cannot be edited. */
export function applyEdits(
  runtime: ToolRuntime,
  prepared: PreparedCall,
  { edited, context }: { readonly edited: JsonObject; readonly context: ToolContext },
): PreparedCall {
  const { rule, schema } = runtime;
  const isFromRule = ([name]: readonly [string, unknown]) => Object.hasOwn(rule.args ?? {}, name);
  const editable = Object.entries(structuredClone(edited)).filter((entry) => !isFromRule(entry));
  const injected = Object.entries(prepared.args).filter(isFromRule);
  const allArgs = Object.fromEntries([...editable, ...injected]);
  const args = schema.injector.isEmpty
    ? allArgs
    : schema.injector.inject(allArgs, getAgentInput(runtime, context));
  assertArguments(runtime, args);
  return { ...prepared, args };
}

/** Removes the rule's injected arguments and masks the agent's sensitive ones. */
export function toModelVisibleArgs({ rule, schema }: ToolRuntime, args: JsonObject): JsonObject {
  const visible = Object.entries(args).filter(([name]) => !Object.hasOwn(rule.args ?? {}, name));
  return schema.injector.mask(Object.fromEntries(visible));
}

function parseArguments(runtime: ToolRuntime, input: unknown): JsonObject {
  if (isPlainObject(input)) return input;
  throw invalidArgumentsError(runtime, [
    { path: "", message: `expected an object, got ${describeValue(input)}` },
  ]);
}

/** Applies the schema's defaults, then the agent's argument properties. */
function applyDefaults(runtime: ToolRuntime, input: JsonObject, context: ToolContext): JsonObject {
  const { injector, defaults } = runtime.schema;
  const args = defaults.apply(input);
  return injector.isEmpty ? args : injector.inject(args, getAgentInput(runtime, context));
}

/** Adds the rule's arguments. The model's value for one of them is dropped, even when the rule has no value for it. */
async function injectArguments(
  sources: NonNullable<ToolRule["args"]>,
  input: JsonObject,
  { context, cancellation }: { readonly context: ToolContext; readonly cancellation: CancelScope },
): Promise<JsonObject> {
  const visible = Object.entries(input).filter(([name]) => !Object.hasOwn(sources, name));
  const resolveValue = async (source: (typeof sources)[string]): Promise<unknown> =>
    typeof source === "function" ? runHook(cancellation, () => source(context.toPlainContext())) : source;
  const injected = await Promise.all(
    Object.entries(sources).map(async ([name, source]) => [name, await resolveValue(source)] as const),
  );
  return Object.fromEntries([...visible, ...injected.filter(([, value]) => value !== undefined)]);
}

/** `configurable.agentInput` of the run takes precedence over the factory's `agentInput`. */
function getAgentInput({ agentInput }: ToolRuntime, { runConfig }: ToolContext): JsonObject {
  const runInput: unknown = runConfig.configurable?.["agentInput"];
  return isPlainObject(runInput) ? runInput : agentInput;
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
  const injectedIssues = issues.filter(({ path }) => isInjected(runtime, path));
  if (injectedIssues.length === issues.length) {
    const names = [...new Set(injectedIssues.map(({ path }) => rootProperty(path)))].join(", ");
    runtime.warn(`The injected value of ${names} does not match the input schema.`);
    throw deniedError(
      runtime,
      `an injected argument (${names}) does not match the input schema. Only the operator can fix this.`,
    );
  }
  throw invalidArgumentsError(
    runtime,
    issues.filter((issue) => !injectedIssues.includes(issue)),
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

function invalidArgumentsError(
  { schema: { info }, server }: ToolRuntime,
  issues: readonly ArgumentIssue[],
): McpRuntimeError {
  const lines = issues.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`));
  const text = [`The arguments of tool "${info.name}" are invalid; the tool was not called:`, ...lines].join(
    "\n",
  );
  return new McpRuntimeError("invalid-request", text, { server, tool: info.name, issues });
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
async function refreshSchema(
  runtime: ToolRuntime,
  context: ToolContext,
  cancellation: CancelScope,
): Promise<void> {
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
    throw new McpRuntimeError("not-found", text, { server, tool: name });
  }
  const { severity, parameters } = compareSchemas(schema.info.inputSchema, location.info.inputSchema);
  if (severity !== "breaking") return;
  runtime.schema = schema.withInfo(location.info);
  const modelSchema = JSON.stringify(runtime.schema.modelSchema());
  const text = `The parameters of tool "${name}" have changed; the tool was not called. Its parameters are now: ${modelSchema}`;
  const issues = parameters.map(({ parameter, what }) => ({ path: parameter, message: CHANGE_TEXTS[what] }));
  throw new McpRuntimeError("invalid-request", text, { server, tool: name, issues });
}
