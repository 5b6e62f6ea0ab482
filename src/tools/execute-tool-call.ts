import { classifyFailure } from "../errors/failure-kinds.js";
import type { CallInput, CallToolOptions, ToolCall } from "../client/call-options.js";
import { ToolResult } from "../client/tool-result.js";
import type { ToolRule } from "../config/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import type { JsonObject } from "../json/json.js";
import { createApprovedCaller, notDurableError, openDurableCall } from "./durable-call.js";
import { parseAfterCallResult } from "./hook-results.js";
import { requireAny, runHook, toCallPreview, toModelVisibleArgs } from "./prepare-call.js";
import { callError, deniedError, isGraphBubbleUp } from "./tool-failure.js";
import type { BeforeToolCallInput } from "./tool-options.js";
import type { Approval, InputSource, PreparedCall, ToolCaller, ToolRun, ToolRuntime } from "./tool-run.js";

/** Runs one call, from the model's arguments to the server's result. Nothing is sent until all checks have passed. */
export async function executeToolCall(run: ToolRun): Promise<ToolResult> {
  const { runtime, context, interceptor, cancellation } = run;
  try {
    cancellation.throwIfCancelled();
    if (runtime.isAllowed !== undefined) await assertAllowed(run, runtime.isAllowed);
    const prepared = await interceptor.prepare(run);
    const approved = prepared.needsApproval ? await interceptor.approve(run, prepared) : prepared;
    const { meta: metaOption, afterToolCall } = runtime.settings;
    const meta =
      typeof metaOption === "function"
        ? await runHook(run, "meta", () => metaOption(context.toPlainContext()))
        : metaOption;
    const preview = afterToolCall === undefined ? undefined : toCallPreview(run, approved.args);
    const { semaphore } = runtime;
    const release = semaphore === undefined ? undefined : await semaphore.acquire(cancellation);
    try {
      const { approval } = approved;
      const result = await (approval === undefined
        ? send(run, approved, meta)
        : sendOnce(run, approval, () => send(run, approved, meta)));
      if (result.isError && (await isToolMissing(run))) throw missingToolError(runtime, result);
      if (result.inputRequired !== undefined) return result;
      const isFinal = preview === undefined && runtime.schema.outputValidator === undefined;
      return isFinal ? result : await finalizeResult(run, result, preview);
    } catch (error) {
      if (!isInvalidParams(error) || !(await isToolMissing(run))) throw error;
      throw error.with({ kind: classifyFailure({ code: error.code, isToolMissing: true }) });
    } finally {
      release?.();
      if (run.progress !== undefined) await run.progress.end(cancellation);
    }
  } finally {
    run.dispose();
  }
}

/** A run that may not see the tool gets the error of an unknown tool. */
async function assertAllowed(run: ToolRun, isAllowed: NonNullable<ToolRuntime["isAllowed"]>): Promise<void> {
  const { name } = run.runtime;
  if (await runHook(run, "filter", () => isAllowed(run.context.runConfig))) return;
  throw new McpRuntimeError("not-found", `There is no tool "${name}".`, { tool: name });
}

function send(
  run: ToolRun,
  prepared: PreparedCall,
  meta: JsonObject | undefined,
  durable: ToolRule["durable"] = run.runtime.rule.durable,
): Promise<ToolResult> {
  const { context, runtime, interceptor } = run;
  if (typeof durable === "function")
    return requireAny({ hook: "durable", conditions: [durable] }, run, prepared.args).then((isDurable) =>
      send(run, prepared, meta, isDurable),
    );
  const call: ToolCall = { name: context.tool, args: prepared.args, id: context.toolCallId };
  const options = toCallOptions(run, prepared, meta);
  const inputs = interceptor.openInput(run);
  const { approval } = prepared;
  if (durable === true) return sendDurably(run, { call, options, approval }, inputs);
  const isRecorded = approval !== undefined && options.idempotent !== true;
  const caller = isRecorded ? createApprovedCaller(run, approval) : runtime.caller;
  if (inputs !== undefined) return sendWithInput(caller, inputs, { run, call, options });
  run.hasBegunSending = true;
  return caller.callTool(call, options);
}

interface CallToSend {
  readonly call: ToolCall;
  readonly options: CallToolOptions;
}

async function sendDurably(
  run: ToolRun,
  { call, options, approval }: CallToSend & Pick<PreparedCall, "approval">,
  inputs: InputSource | undefined,
): Promise<ToolResult> {
  if (inputs === undefined) throw notDurableError(run);
  const durableCall = await openDurableCall(run, approval);
  const { rule, schema } = run.runtime;
  const isOptional = schema.info.execution?.taskSupport === "optional" && rule.task !== false;
  const task = options.task === true || isOptional;
  try {
    return await sendWithInput(durableCall, inputs, {
      run,
      call,
      options: { ...options, idempotent: false, task },
    });
  } catch (error) {
    // The task was cancelled, and not the run: the graph goes on, like after a rejection.
    if (error instanceof McpRuntimeError && error.kind === "cancelled") run.isRejected = true;
    throw error;
  }
}

interface ApprovedSend {
  readonly argsHash: string;
  readonly result: Promise<ToolResult>;
  /** `isRejected` of the run that has sent it, once the call has failed. */
  isRejected: boolean;
}

/** The calls that were sent for an approval, by the approval. */
const APPROVED_SENDS = new WeakMap<ToolCaller, Map<string, ApprovedSend>>();
const MAX_APPROVED_SENDS = 100;
/** The other calls of the same message may run for longer: until then, the graph can be resumed once more. */
const APPROVED_SEND_TTL_MS = 60_000;

/**
 * Sends a call once for its approval: a graph may be resumed twice at the same time, and each run would send it. The
 * second one gets the result of the first.
 */
async function sendOnce(
  run: ToolRun,
  { key, argsHash }: Approval,
  start: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { runtime, cancellation } = run;
  const sends = APPROVED_SENDS.get(runtime.caller) ?? new Map<string, ApprovedSend>();
  APPROVED_SENDS.set(runtime.caller, sends);
  const existing = sends.get(key);
  if (existing === undefined) {
    const sent: ApprovedSend = { argsHash, result: start(), isRejected: false };
    rememberSend(sends, key, sent, run);
    return sent.result;
  }
  if (existing.argsHash !== argsHash)
    throw deniedError(runtime, "another resume of the same approval has run it with other arguments.");
  try {
    const result = await cancellation.race(existing.result);
    if (result.inputRequired === undefined) return result;
  } catch (error) {
    cancellation.throwIfCancelled();
    run.isRejected ||= existing.isRejected;
    if (error instanceof McpRuntimeError || isGraphBubbleUp(error)) throw error;
  }
  throw deniedError(runtime, "another resume of the same approval has not finished it.");
}

/** A call that failed, or that needs input before it runs, may be sent again. */
function rememberSend(sends: Map<string, ApprovedSend>, key: string, sent: ApprovedSend, run: ToolRun): void {
  const removeSend = () => {
    if (sends.get(key) === sent) sends.delete(key);
  };
  sends.set(key, sent);
  const [oldestKey = ""] = sends.keys();
  if (sends.size > MAX_APPROVED_SENDS) sends.delete(oldestKey);
  const onSuccess = ({ inputRequired }: ToolResult) => {
    if (inputRequired === undefined) setTimeout(removeSend, APPROVED_SEND_TTL_MS).unref();
    else removeSend();
  };
  const onFailure = () => {
    sent.isRejected = run.isRejected;
    removeSend();
  };
  void sent.result.then(onSuccess, onFailure);
}

/** Sends the call again with the input that its server requests, until it returns a result. */
async function sendWithInput(
  caller: Pick<ToolCaller, "callTool">,
  inputs: InputSource,
  { run, call, options }: CallToSend & { readonly run: ToolRun },
): Promise<ToolResult> {
  let input: CallInput | undefined = await inputs.first();
  run.hasBegunSending = true;
  for (;;) {
    const result = await caller.callTool(call, { ...options, input });
    if (result.inputRequired === undefined) return result;
    input = await inputs.next(result.inputRequired);
    if (input === undefined) return result;
  }
}

function toCallOptions(
  run: ToolRun,
  { args, headers }: PreparedCall,
  meta: JsonObject | undefined,
): CallToolOptions {
  const { runtime, context, progress } = run;
  const { rule } = runtime;
  const { isIdempotent, info } = runtime.schema;
  const taskSupport = info.execution?.taskSupport;
  return {
    signal: context.signal,
    timeoutMs: minTimeout(
      context.runConfig.metadata?.["timeoutMs"],
      context.runConfig.timeoutMs ?? rule.timeoutMs,
    ),
    context,
    meta,
    headers,
    idempotent: isIdempotent,
    task: taskSupport === "required" || (taskSupport === "optional" && rule.task === true),
    loggableArgs: () => toModelVisibleArgs(runtime, args),
    secrets: run.secrets,
    onProgress: progress === undefined ? undefined : (update) => progress.report(update),
  };
}

/**
 * LangChain stores the timeout of a run in its metadata, in addition to the signal that enforces it. A timeout of 0
 * for a call or in a rule means no timeout.
 */
function minTimeout(runTimeout: unknown, timeoutMs: number | undefined): number | undefined {
  if (typeof runTimeout !== "number" || !(runTimeout > 0)) return timeoutMs;
  return timeoutMs === undefined || timeoutMs === 0 ? runTimeout : Math.min(runTimeout, timeoutMs);
}

/** A tool list that is younger is reused, so a failing tool causes at most one list request per interval. */
const LIST_TTL_MS = 60_000;
/** How long a failed call waits for the tool list before its failure is reported as it is. */
const MAX_WAIT_MS = 5_000;

/**
 * Whether the server does not have the tool of a failed call. Servers respond to an unknown tool with an error
 * result or with -32602, which they also use for failing tools and invalid arguments. So the tool list decides, not
 * the text of the response.
 */
async function isToolMissing({ runtime, context, cancellation }: ToolRun): Promise<boolean> {
  const location = await runtime.lookup.find(context.tool, {
    caller: { context },
    cancellation,
    mustRefetch: true,
    maxAgeMs: LIST_TTL_MS,
    waitMs: MAX_WAIT_MS,
  });
  return location.state === "unlisted";
}

function isInvalidParams(error: unknown): error is McpRuntimeError {
  return (
    error instanceof McpRuntimeError &&
    error.kind === "invalid-request" &&
    error.code === RPC_CODES.invalidParams
  );
}

function missingToolError(runtime: ToolRuntime, result: ToolResult): McpRuntimeError {
  const serverText = runtime.caller.redactor.excerpt(result.text());
  const detail = serverText === "" ? "." : `. The server responded: ${serverText}`;
  const text = `Server "${runtime.server}" does not list a tool "${runtime.schema.info.name}"${detail}`;
  return callError(runtime, classifyFailure({ isToolMissing: true }), text, { attempts: 1 });
}

/**
 * Validates the output and applies `afterToolCall`. The tool has run, so no error from here on may suggest
 * that it has not.
 */
async function finalizeResult(
  run: ToolRun,
  result: ToolResult,
  preview: BeforeToolCallInput | undefined,
): Promise<ToolResult> {
  const { runtime, cancellation } = run;
  try {
    enforceOutputSchema(runtime, result);
    const { afterToolCall: hook } = runtime.settings;
    if (hook === undefined || preview === undefined) return result;
    const { content, structuredContent, isError, meta } = result;
    const copy = structuredClone({ content, structuredContent, isError, meta });
    const returned: unknown = await runHook(run, "afterToolCall", () => hook({ ...preview, result: copy }));
    const changes = parseAfterCallResult(runtime, returned);
    if (changes === undefined) return result;
    const merged = { content, structuredContent, isError, meta, ...changes };
    const json = { content: merged.content, isError: merged.isError, _meta: merged.meta };
    return new ToolResult(json, merged.structuredContent, { server: preview.server, tool: preview.tool });
  } catch (error) {
    cancellation.throwIfCancelled();
    if (isGraphBubbleUp(error) || (error instanceof McpRuntimeError && error.kind === "invalid-config"))
      throw error;
    throw invalidResultError(runtime, error);
  }
}

function enforceOutputSchema(runtime: ToolRuntime, result: ToolResult): void {
  const { settings, warn, caller } = runtime;
  const { outputValidator } = runtime.schema;
  if (outputValidator === undefined || settings.outputValidation === "off" || result.isError) return;
  const issues = outputValidator.validate(result.structuredContent);
  for (const warning of outputValidator.takeWarnings()) warn(warning);
  if (issues.length === 0) return;
  const lines = issues.map(({ path, message }) => `${path === "" ? "structuredContent" : path}: ${message}`);
  const text = caller.redactor.sanitize(`The result does not match the output schema: ${lines.join("; ")}`);
  if (settings.outputValidation === "error") {
    const redacted = issues.map(({ path, message }) => ({
      path,
      message: caller.redactor.sanitize(message),
    }));
    throw invalidResultError(runtime, new Error(text), redacted);
  }
  warn(text);
}

function invalidResultError(
  runtime: ToolRuntime,
  cause: unknown,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  if (cause instanceof McpRuntimeError) return cause;
  const text = `Tool "${runtime.schema.info.name}" ran, but its result cannot be used.`;
  return callError(runtime, "invalid-response", text, { issues, cause, attempts: 1 });
}
