import type { CallInput } from "../client/call-options.js";
import { ToolResult } from "../client/tool-result.js";
import { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import type { JsonObject } from "../json/json.js";
import type { Progress } from "../transports/transport.js";
import { requestApproval } from "./approval/approve-in-tool.js";
import { callWithInput, type DeferredCall } from "./elicitation/interrupt-for-input.js";
import { type PreparedCall, prepareCall, toCallPreview, toModelVisibleArgs } from "./prepare-call.js";
import type { ProgressReporter } from "./progress-reporter.js";
import type { ApprovalOutcome } from "./approval/reviewable-call.js";
import type { ToolRuntime } from "./tool-runtime.js";
import { runHook, parseAfterCallResult } from "./user-hooks.js";
import { classifyFailure } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isGraphBubbleUp } from "./tool-failure.js";
import type { BeforeToolCallInput } from "./tool-options.js";

/** One call of a tool. */
export interface ToolRun {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** As the model sent them: not validated yet. */
  readonly args: unknown;
  readonly context: ToolContext;
  /** The timeout of the LangChain run. */
  readonly timeoutMs: number | undefined;
  /** Set when the middleware or tool node has prepared the call. */
  readonly approval?: ApprovalOutcome | undefined;
  /** Set when the tool node requests the input that the server needs. */
  readonly deferredInput?: DeferredCall | undefined;
  /** Set when there is a progress listener. */
  readonly progress?: ProgressReporter | undefined;
  /** Called with a message for the model when a reviewer has edited the call. */
  readonly onNotice?: ((notice: string) => void) | undefined;
}

/** Runs one call, from the model's arguments to the server's result. Nothing is sent until all checks have passed. */
export function executeToolCall(runtime: ToolRuntime, call: ToolRun): Promise<ToolResult> {
  return withCancellation(runtime, call.context, (cancellation) => execute(runtime, call, cancellation));
}

/** Runs everything that precedes the call, except its approval. */
export function prepareToolCall(
  runtime: ToolRuntime,
  call: Pick<ToolRun, "args" | "context">,
): Promise<PreparedCall> {
  return withCancellation(runtime, call.context, (cancellation) => prepareCall(runtime, call, cancellation));
}

/** Runs `work` with a scope that is cancelled by the caller's signal or when the toolset closes. */
async function withCancellation<T>(
  runtime: ToolRuntime,
  { signal }: ToolContext,
  work: (cancellation: CancelScope) => T | Promise<T>,
): Promise<T> {
  const cancellation = CancelScope.fromSignal(signal);
  const unsubscribe = runtime.caller.closed?.onCancel((reason) => cancellation.cancel(reason));
  try {
    cancellation.throwIfCancelled();
    return await work(cancellation);
  } finally {
    unsubscribe?.();
    cancellation.dispose();
  }
}

async function execute(runtime: ToolRuntime, call: ToolRun, cancellation: CancelScope): Promise<ToolResult> {
  const { context, progress } = call;
  const { settings, semaphore } = runtime;
  const approval: ApprovalOutcome = call.approval ?? {
    type: "undecided",
    prepared: await prepareCall(runtime, call, cancellation),
  };
  const isReady = approval.type === "undecided" && !approval.prepared.needsApproval;
  const { args, headers } = isReady
    ? approval.prepared
    : await toApprovedCall(runtime, call, approval, cancellation);
  const { meta: metaOption, afterToolCall } = settings;
  const meta =
    typeof metaOption === "function"
      ? await runHook(cancellation, () => metaOption(context.toPlainContext()))
      : metaOption;
  const preview = afterToolCall === undefined ? undefined : toCallPreview(runtime, args, context);
  const release = semaphore === undefined ? undefined : await semaphore.acquire(cancellation);
  try {
    const result = await callWithInput((input) => send(runtime, call, { args, headers, meta, input }), {
      server: runtime.server,
      tool: call.name,
      context,
      deferred: call.deferredInput,
    });
    const missingTool = result.isError
      ? await missingToolFromResult(runtime, result, { context, cancellation })
      : undefined;
    if (missingTool !== undefined) throw missingTool;
    if (result.inputRequired !== undefined) return result;
    const isFinal = preview === undefined && runtime.schema.outputValidator === undefined;
    return isFinal ? result : await finalizeResult(runtime, result, { preview, cancellation });
  } catch (error) {
    throw await missingToolFromError(runtime, error, { context, cancellation });
  } finally {
    release?.();
    if (progress !== undefined) await progress.end();
  }
}

interface OutgoingCall extends Pick<PreparedCall, "args" | "headers"> {
  readonly meta: JsonObject | undefined;
  readonly input: CallInput | undefined;
}

function send(
  runtime: ToolRuntime,
  { context, timeoutMs, progress: reporter }: ToolRun,
  { args, headers, meta, input }: OutgoingCall,
): Promise<ToolResult> {
  const { caller, rule, schema } = runtime;
  const { injector, info } = schema;
  return caller.callTool(
    { name: info.name, args, id: context.toolCallId },
    {
      signal: context.signal,
      timeoutMs: minTimeout(timeoutMs, rule.timeoutMs),
      context,
      meta,
      headers,
      idempotent: isIdempotent(runtime),
      loggableArgs: () => toModelVisibleArgs(runtime, args),
      secrets: injector.isEmpty ? undefined : injector.collectSecrets(args),
      onProgress: reporter === undefined ? undefined : (progress: Progress) => reporter.report(progress),
      input,
    },
  );
}

/** Returns the call that may be sent. Requests approval when it is needed and has not been decided yet. */
async function toApprovedCall(
  runtime: ToolRuntime,
  call: ToolRun,
  approval: ApprovalOutcome,
  cancellation: CancelScope,
): Promise<PreparedCall> {
  switch (approval.type) {
    case "failed":
    case "rejected":
      throw approval.failure;
    case "approved":
      if (approval.notice !== undefined) call.onNotice?.(approval.notice);
      return approval.prepared;
    case "undecided": {
      const { prepared } = approval;
      if (!prepared.needsApproval) return prepared;
      const { name, context } = call;
      const outcome = await requestApproval(runtime, { name, prepared, context }, cancellation);
      return toApprovedCall(runtime, call, outcome, cancellation);
    }
  }
}

/** The user's rule takes precedence over the server's annotations, which count only where they are trusted. */
function isIdempotent({ rule, schema: { info }, trustAnnotations }: ToolRuntime): boolean {
  const { idempotentHint, readOnlyHint } = info.annotations ?? {};
  return rule.idempotent ?? (trustAnnotations && (idempotentHint === true || readOnlyHint === true));
}

/** 0 means no timeout. */
function minTimeout(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > 0 && b > 0 ? Math.min(a, b) : Math.max(a, b);
}

const INVALID_PARAMS = -32_602;
/** A tool list that is younger is reused, so a failing tool causes at most one list request per interval. */
const LIST_TTL_MS = 60_000;
/** How long a failed call waits for the tool list before its failure is reported as it is. */
const MAX_WAIT_MS = 5_000;

interface LookupContext {
  readonly context: ToolContext;
  readonly cancellation: CancelScope;
}

/**
 * Returns an error when an error result means that the server does not have the tool. Servers respond to an
 * unknown tool with an error result or with -32602, which they also use for failing tools and invalid
 * arguments. So the tool list decides, not the text of the response.
 */
async function missingToolFromResult(
  runtime: ToolRuntime,
  result: ToolResult,
  lookupContext: LookupContext,
): Promise<McpRuntimeError | undefined> {
  return (await isToolMissing(runtime, lookupContext)) ? missingToolError(runtime, result) : undefined;
}

/** Returns the failure of a call, reclassified when the server does not have the tool. */
async function missingToolFromError(
  runtime: ToolRuntime,
  failure: unknown,
  lookupContext: LookupContext,
): Promise<unknown> {
  if (!isInvalidParams(failure) || !(await isToolMissing(runtime, lookupContext))) return failure;
  return failure.with({ kind: classifyFailure({ code: failure.code, isToolMissing: true }) });
}

async function isToolMissing(
  { lookup, schema }: ToolRuntime,
  { context, cancellation }: LookupContext,
): Promise<boolean> {
  const location = await lookup.find(schema.info.name, {
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
    error instanceof McpRuntimeError && error.kind === "invalid-request" && error.code === INVALID_PARAMS
  );
}

function missingToolError({ server, schema: { info } }: ToolRuntime, result: ToolResult): McpRuntimeError {
  const serverText = excerpt(result.text());
  const detail = serverText === "" ? "." : `. The server responded: ${serverText}`;
  const text = `Server "${server}" does not list a tool "${info.name}"${detail}`;
  return new McpRuntimeError(classifyFailure({ isToolMissing: true }), text, {
    server,
    tool: info.name,
    attempts: 1,
  });
}

/**
 * Validates the output and applies `afterToolCall`. The tool has run, so no error from here on may suggest
 * that it has not.
 */
async function finalizeResult(
  runtime: ToolRuntime,
  result: ToolResult,
  {
    preview,
    cancellation,
  }: { readonly preview: BeforeToolCallInput | undefined; readonly cancellation: CancelScope },
): Promise<ToolResult> {
  try {
    enforceOutputSchema(runtime, result);
    const { afterToolCall: hook } = runtime.settings;
    if (hook === undefined || preview === undefined) return result;
    const { content, structuredContent, isError, meta } = result;
    const copy = structuredClone({ content, structuredContent, isError, meta });
    const changes = parseAfterCallResult(
      await runHook(cancellation, () => hook({ ...preview, result: copy })),
    );
    if (changes === undefined) return result;
    const merged = { content, structuredContent, isError, meta, ...changes };
    const json = { content: merged.content, isError: merged.isError, _meta: merged.meta };
    return new ToolResult(json, merged.structuredContent, {
      server: runtime.server,
      tool: runtime.schema.info.name,
    });
  } catch (error) {
    cancellation.throwIfCancelled();
    if (isGraphBubbleUp(error) || (error instanceof McpRuntimeError && error.kind === "invalid-config"))
      throw error;
    throw invalidResultError(runtime, error);
  }
}

function enforceOutputSchema(runtime: ToolRuntime, result: ToolResult): void {
  const { settings, warn } = runtime;
  const { outputValidator } = runtime.schema;
  if (outputValidator === undefined || settings.outputValidation === "off" || result.isError) return;
  const issues = outputValidator.validate(result.structuredContent);
  for (const warning of outputValidator.takeWarnings()) warn(warning);
  if (issues.length === 0) return;
  const lines = issues.map(({ path, message }) => `${path === "" ? "structuredContent" : path}: ${message}`);
  const text = `The result does not match the output schema: ${lines.join("; ")}`;
  if (settings.outputValidation === "error") throw invalidResultError(runtime, new Error(text), issues);
  warn(text);
}

function invalidResultError(
  { server, schema: { info } }: ToolRuntime,
  cause: unknown,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  if (cause instanceof McpRuntimeError) return cause;
  const text = `Tool "${info.name}" ran, but its result cannot be used.`;
  return new McpRuntimeError("invalid-response", text, {
    server,
    tool: info.name,
    issues,
    cause,
    attempts: 1,
  });
}
