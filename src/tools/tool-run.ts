import { ToolResult } from "../client/tool-result.js";
import { Cancellation } from "../concurrency/cancellation.js";
import type { CallContext } from "../definitions/call-context.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Progress } from "../session/session.js";
import { approve } from "./approval.js";
import { callAskingInGraph, type HeldCall } from "./ask-for-input.js";
import { type PreparedCall, prepareCall, previewOf, visibleArguments } from "./prepared-call.js";
import type { ProgressReport } from "./report-progress.js";
import type { Settlement } from "./reviewed-call.js";
import { isBubblingUp } from "./tool-failure.js";
import type { CallPreview } from "./tool-options.js";
import type { ToolParts } from "./tool-parts.js";
import { unlessUnknown } from "./unknown-tool.js";
import { ask, checkReplacement } from "./user-code.js";

export interface ToolRun {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** What the model gave as arguments. */
  readonly given: unknown;
  readonly context: CallContext;
  /** The run's own time limit. */
  readonly timeoutMs: number | undefined;
  /** What a door has found out about this call before. */
  readonly settled?: Settlement | undefined;
  /** Where a door asks for what the server wants to know first. */
  readonly held?: HeldCall | undefined;
  /** Where somebody listens to its progress. */
  readonly report?: ProgressReport | undefined;
  /** Told where somebody changed the call: what the model should know of it. */
  readonly onNote?: ((note: string) => void) | undefined;
}

/** One call from the model's arguments to the server's result. Nothing is sent before all checks are passed. */
export async function runTool(parts: ToolParts, call: ToolRun): Promise<ToolResult> {
  return cancellable(parts, call.context, (cancellation) => run(parts, call, cancellation));
}

/** Everything that comes before the call but its approval. */
export async function prepareRun(
  parts: ToolParts,
  call: Pick<ToolRun, "given" | "context">,
): Promise<PreparedCall> {
  return cancellable(parts, call.context, (cancellation) => prepareCall(parts, call, cancellation));
}

/** Ends with the caller's signal, or with the toolset. */
async function cancellable<T>(
  parts: ToolParts,
  { signal }: CallContext,
  work: (cancellation: Cancellation) => Promise<T>,
): Promise<T> {
  const cancellation = Cancellation.fromSignal(signal);
  const forget = parts.caller.closed?.onCancel((reason) => cancellation.cancel(reason));
  try {
    cancellation.throwIfCancelled();
    return await work(cancellation);
  } finally {
    forget?.();
    cancellation.release();
  }
}

async function run(parts: ToolParts, call: ToolRun, cancellation: Cancellation): Promise<ToolResult> {
  const { context, report } = call;
  const { settings, caller, rule, slots } = parts;
  const { args, headers } = await clearedCall(parts, call, cancellation);
  const { meta: metaOption, afterCall } = settings;
  const meta =
    typeof metaOption === "function" ? await ask(cancellation, () => metaOption(context)) : metaOption;
  const preview = afterCall === undefined ? undefined : previewOf(parts, args, context);
  const leave = await slots?.enter(cancellation);
  try {
    const timeoutMs = shortest(call.timeoutMs, rule.timeoutMs);
    const toolCall = { name: parts.schema.info.name, args, id: context.toolCallId };
    const options = {
      signal: context.signal,
      timeoutMs,
      context,
      meta,
      headers,
      idempotent: isIdempotent(parts),
      recordedArgs: () => visibleArguments(parts, args),
      secrets: parts.schema.filler.isEmpty ? undefined : parts.schema.filler.secretsIn(args),
      onProgress: report === undefined ? undefined : (progress: Progress) => report.hear(progress),
    };
    const result = await callAskingInGraph(
      (input) =>
        unlessUnknown(parts, caller.callTool(toolCall, { ...options, input }), { context, cancellation }),
      { server: parts.server, tool: call.name, context, held: call.held },
    );
    if (result.inputRequired !== undefined) return result;
    return await usable(parts, result, preview, cancellation);
  } finally {
    leave?.();
    await report?.end();
  }
}

/** The call as it may be sent: as a door has settled it, or prepared and approved here. */
async function clearedCall(
  parts: ToolParts,
  call: ToolRun,
  cancellation: Cancellation,
): Promise<PreparedCall> {
  const { name, context, settled } = call;
  if (settled?.type === "failed" || settled?.type === "rejected") throw settled.failure;
  if (settled?.type === "cleared") {
    if (settled.note !== undefined) call.onNote?.(settled.note);
    return settled.prepared;
  }
  const prepared = settled?.prepared ?? (await prepareCall(parts, call, cancellation));
  if (!prepared.needsApproval) return prepared;
  const settlement = await approve(parts, { name, prepared, context }, cancellation);
  return clearedCall(parts, { ...call, settled: settlement }, cancellation);
}

/** The user's word first, then the server's where it is trusted. */
function isIdempotent({ rule, schema: { info }, trustAnnotations }: ToolParts): boolean {
  const { idempotentHint, readOnlyHint } = info.annotations ?? {};
  return rule.idempotent ?? (trustAnnotations && (idempotentHint === true || readOnlyHint === true));
}

function shortest(...limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined && limit > 0);
  return given.length === 0 ? limits.find((limit) => limit === 0) : Math.min(...(given as number[]));
}

/** The tool has run: whatever goes wrong from here on must not be told as if it had not. */
async function usable(
  parts: ToolParts,
  result: ToolResult,
  preview: CallPreview | undefined,
  cancellation: Cancellation,
): Promise<ToolResult> {
  try {
    checkOutput(parts, result);
    const { afterCall: hook } = parts.settings;
    if (hook === undefined || preview === undefined) return result;
    const { content, structuredContent, isError, meta } = result;
    const copy = structuredClone({ content, structuredContent, isError, meta });
    const changed = checkReplacement(await ask(cancellation, () => hook({ ...preview, result: copy })));
    if (changed === undefined) return result;
    const whole = { content, structuredContent, isError, meta, ...changed };
    const json = { content: whole.content, isError: whole.isError, _meta: whole.meta };
    return new ToolResult(json, whole.structuredContent, {
      server: parts.server,
      tool: parts.schema.info.name,
    });
  } catch (error) {
    cancellation.throwIfCancelled();
    if (isBubblingUp(error) || (error instanceof McpRuntimeError && error.kind === "definition")) throw error;
    throw unusable(parts, error);
  }
}

function checkOutput(parts: ToolParts, result: ToolResult): void {
  const { settings, warn } = parts;
  const { outputCheck } = parts.schema;
  if (outputCheck === undefined || settings.outputValidation === "off" || result.isError) return;
  const issues = outputCheck.issuesOf(result.structuredContent);
  for (const warning of outputCheck.newWarnings()) warn(warning);
  if (issues.length === 0) return;
  const lines = issues.map(({ path, message }) => `${path === "" ? "structuredContent" : path}: ${message}`);
  const text = `does not fit its output schema: ${lines.join("; ")}`;
  if (settings.outputValidation === "error") throw unusable(parts, new Error(`It ${text}`), issues);
  warn(`The result ${text}`);
}

function unusable(
  { server, schema: { info } }: ToolParts,
  cause: unknown,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  if (cause instanceof McpRuntimeError) return cause;
  const text = `Tool "${info.name}" ran, but its result cannot be used.`;
  return new McpRuntimeError("malformed", text, { server, tool: info.name, issues, cause, attempts: 1 });
}
