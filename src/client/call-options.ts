import {
  findOptionsProblem,
  isObject,
  optionKeys,
  zodToIssues,
  ZOD_CONTEXT,
} from "../config/parse-options.js";
import type { CallContext } from "../config/call-context.js";
import { HEADERS_SCHEMA } from "../config/http-options.js";
import { configError, McpRuntimeError, type ConfigIssue } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { isStringArray, type JsonObject } from "../json/json.js";
import type { Progress } from "../transports/transport.js";
import type { OutputSchema, ToolResult } from "./tool-result.js";

/** A tool call: which tool, with which arguments. */
export interface ToolCall {
  /** The tool name as the server lists it. */
  readonly name: string;
  /** @default {} */
  readonly args?: JsonObject | undefined;
  /** The same as `args`, by its name in the protocol. Pass one of the two. */
  readonly arguments?: JsonObject | undefined;
  /** Reported as `requestId` in events and outcomes. @default a random UUID */
  readonly id?: string | undefined;
}

/** Describes the caller. Passed to the `headers`, `auth` and `identity` functions of a server definition. */
export type CallerContext = Partial<
  Pick<CallContext, "configurable" | "context" | "state" | "store" | "config" | "runId">
>;

/** Options of every request to a server. */
export interface RequestOptions {
  /**
   * Aborts the request: it rejects with `signal.reason`, and the server is sent a cancellation.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Overrides `timeouts.requestMs` for this request.
   *
   * @default `timeouts.requestMs` of the server
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Required when the server definition has an `identity` function.
   *
   * @default {}
   */
  readonly context?: CallerContext | undefined;
}

/** Options of `listTools`. */
export interface ListToolsOptions extends RequestOptions {
  /**
   * Called with the cache lifetime of the list in milliseconds, if the server sends one.
   *
   * @default none
   */
  readonly onTtl?: ((ttlMs: number) => void) | undefined;
}

/** Responses to the input requests of an earlier `input_required` result, and the state to send back. */
export interface CallInput {
  /** Responses by the keys of `inputRequired.requests`. */
  readonly responses?: JsonObject | undefined;
  /** `inputRequired.requestState`, unchanged. */
  readonly requestState?: string | undefined;
  /** `inputRequired.taskId`: the call goes on with this task, and no other one is created. */
  readonly taskId?: string | undefined;
  /**
   * Returns a task that has not ended as `inputRequired.task`, and cancels it only if asked to: "check" requests its
   * status once, "wait" waits up to `timeouts.taskMs`, "cancel" cancels it. Without `taskId`, the task that the call
   * creates is returned at once.
   * @default the call waits for its task, and cancels it if the wait ends earlier
   */
  readonly task?: TaskAction | undefined;
}

/** What to do with a task that was returned before its end. */
export type TaskAction = "check" | "wait" | "cancel";

export const TASK_ACTIONS: readonly TaskAction[] = ["check", "wait", "cancel"];

/** Options of one tool call. */
export interface CallToolOptions<Output = unknown> extends RequestOptions {
  /**
   * Called for each progress notification. Progress also restarts `timeouts.requestMs`.
   *
   * @default none
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Validates and types `structuredContent`. Any Standard Schema works (zod, valibot, arktype). Content of more than
   * 1,000,000 values is an `invalid-response`, and the error lists the first 100 problems.
   *
   * @default `structuredContent` is not validated
   */
  readonly output?: OutputSchema<Output> | undefined;
  /**
   * The call may safely run twice: it is retried even when it may already have run.
   * @default false
   */
  readonly idempotent?: boolean | undefined;
  /**
   * Handles input requests of a server without sessions in the caller: they are returned as
   * `result.inputRequired`, and the call is repeated with the responses. Pass `{}` on the first call.
   *
   * @default the handlers of the server definition respond
   */
  readonly input?: CallInput | undefined;
  /**
   * Asks a server of 2025-11-25 to run the call as a task; other servers decide themselves.
   * @default true for tools that can only be called as a task, by the last list of tools; otherwise false
   */
  readonly task?: boolean | undefined;
  /**
   * HTTP headers for this call only. Headers reserved by the protocol are ignored. Their values are redacted from
   * errors, logs and events, also when the server echoes them. Programs (stdio), WebSocket servers and Lambda functions
   * do not receive them, which causes a warning.
   *
   * @default {}
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Sent to the server as `_meta`.
   *
   * @default none
   */
  readonly meta?: JsonObject | undefined;
  /** Returns the arguments that may appear in events and traces. Called only when they are recorded. @default all arguments */
  readonly loggableArgs?: (() => JsonObject) | undefined;
  /**
   * Values in the arguments that are redacted everywhere, also when the server echoes them.
   *
   * @default []
   */
  readonly secrets?: readonly string[] | undefined;
}

/** Options of `callTools`. */
export interface CallToolsOptions extends CallToolOptions {
  /** The maximum number of concurrent calls. @default 16 */
  readonly concurrency?: number | undefined;
}

export interface OutcomeDetails {
  readonly server: string;
  readonly tool: string;
  readonly requestId: string;
  readonly latencyMs: number;
  readonly attempts: number;
}

/** The result of a call, or its error as a value. */
export type CallOutcome<Output = unknown> =
  | (OutcomeDetails & {
      /** The call succeeded. The tool may still have reported an error (`result.isError`). */
      readonly ok: true;
      /** What `callTool` would have returned. */
      readonly result: ToolResult<Output>;
    })
  | (OutcomeDetails & {
      /** The call failed. */
      readonly ok: false;
      /** What `callTool` would have thrown. */
      readonly error: McpRuntimeError;
    });

export const REQUEST_KEYS = { signal: true, timeoutMs: true, context: true } as const;
const CALL_TOOL_KEYS = {
  ...REQUEST_KEYS,
  onProgress: true,
  output: true,
  idempotent: true,
  input: true,
  task: true,
  headers: true,
  meta: true,
  loggableArgs: true,
  secrets: true,
} as const;
const REQUEST_OPTIONS = optionKeys<RequestOptions>(REQUEST_KEYS);
const CALL_TOOL_OPTIONS = optionKeys<CallToolOptions>(CALL_TOOL_KEYS);
export const CALL_TOOLS_OPTIONS = optionKeys<CallToolsOptions>({ ...CALL_TOOL_KEYS, concurrency: true });
export const IDENTITY_OPTIONS = optionKeys<RequestOptions & Pick<CallContext, "purpose">>({
  ...REQUEST_KEYS,
  purpose: true,
});
export const LIST_TOOLS_OPTIONS = optionKeys<ListToolsOptions>({ ...REQUEST_KEYS, onTtl: true });

/** Runs for each call, so it allocates nothing unless it throws. */
export function assertRequestOptions(
  server: string,
  options: RequestOptions,
  keys: ReadonlySet<string> = REQUEST_OPTIONS,
): void {
  const problem = findOptionsProblem(options, keys);
  if (problem !== undefined) throw requestError(server, "options", problem);
  const { timeoutMs, context } = options;
  // It may have other keys: the whole config of a run is a valid context.
  if (context !== undefined && !isObject(context))
    throw requestError(server, "context", `expected an object, got ${describeValue(context)}`);
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)) return;
  const text = `timeoutMs must be a non-negative number of milliseconds, got ${printValue(timeoutMs)}.`;
  throw new McpRuntimeError("invalid-config", text, { server });
}

const TOOL_CALL_KEYS = { name: true, args: true, arguments: true, id: true } as const;
/** `type` is a key of LangChain's tool calls. */
const CALL_KEYS = optionKeys<ToolCall & { readonly type: string }>({ ...TOOL_CALL_KEYS, type: true });
export const TOOLSET_CALL_KEYS = optionKeys<ToolCall & { readonly type: string; readonly server: string }>({
  ...TOOL_CALL_KEYS,
  type: true,
  server: true,
});

/** Returns what is wrong with the keys of a call. Allocates nothing if they are valid. */
export function findCallProblem(
  call: { readonly args?: unknown; readonly arguments?: unknown },
  keys: ReadonlySet<string>,
): string | undefined {
  return call.args !== undefined && call.arguments !== undefined
    ? "it has both args and arguments; pass one of the two"
    : findOptionsProblem(call, keys);
}

function requestError(server: string, path: string, message: string): McpRuntimeError {
  return configError("The request", [{ path, message }], { server });
}

/** Rejects invalid calls and options from untyped callers before anything is sent. Runs for each call: without zod. */
export function assertToolCall(server: string, call: ToolCall, options: CallToolOptions): void {
  const invalidCall = (message: string) => new McpRuntimeError("invalid-config", message, { server });
  // A function has a property `arguments` that throws when it is read.
  if (typeof call !== "object" || typeof call?.name !== "string")
    throw invalidCall("callTool requires a tool name: callTool({ name, args }).");
  const problem = findCallProblem(call, CALL_KEYS);
  if (problem !== undefined) throw invalidCall(`The call to tool "${call.name}" is not valid: ${problem}.`);
  const args = call.args ?? call.arguments;
  if (args !== undefined && !isObject(args))
    throw invalidCall(`The arguments of tool "${call.name}" must be an object, got ${describeValue(args)}.`);
  assertRequestOptions(server, options, CALL_TOOL_OPTIONS);
  const issues = validateCallOptions(options);
  if (issues.length > 0) throw configError(`The call to tool "${call.name}"`, issues, { server });
}

function validateCallOptions(options: CallToolOptions): ConfigIssue[] {
  const { onProgress, output, idempotent, input, task, meta, secrets, headers } = options;
  const issues: ConfigIssue[] = [];
  const addIssue = (path: string, expected: string, actual: unknown) =>
    issues.push({ path, message: `expected ${expected}, got ${describeValue(actual)}` });
  if (onProgress !== undefined && typeof onProgress !== "function")
    addIssue("onProgress", "a function", onProgress);
  if (output !== undefined && !isSchema(output))
    addIssue("output", "a Standard Schema, such as a zod schema", output);
  if (idempotent !== undefined && typeof idempotent !== "boolean")
    addIssue("idempotent", "true or false", idempotent);
  if (task !== undefined && typeof task !== "boolean") addIssue("task", "true or false", task);
  if (input !== undefined && !isObject(input)) addIssue("input", "an object", input);
  else if (input?.task !== undefined && !TASK_ACTIONS.includes(input.task))
    addIssue("input.task", TASK_ACTIONS.join(", "), input.task);
  if (meta !== undefined && !isObject(meta)) addIssue("meta", "an object", meta);
  if (secrets !== undefined && !isStringArray(secrets)) addIssue("secrets", "an array of strings", secrets);
  if (headers === undefined) return issues;
  const { error } = HEADERS_SCHEMA.safeParse(headers, ZOD_CONTEXT);
  return error === undefined ? issues : [...issues, ...zodToIssues(error, ["headers"])];
}

function isSchema(value: unknown): boolean {
  return typeof Reflect.get(Object(Reflect.get(Object(value), "~standard")), "validate") === "function";
}
