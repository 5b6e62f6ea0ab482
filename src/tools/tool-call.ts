import type { CallInput } from "../client/call-options.js";
import type { ToolResult } from "../client/tool-result.js";
import { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import type { JsonObject } from "../json/json.js";
import type { Progress } from "../session/session.js";
import { approve } from "./approval/approve-in-tool.js";
import { callAskingInGraph, type HeldCall } from "./elicitation/interrupt-for-input.js";
import { type PreparedCall, prepareCall, previewOf, visibleArguments } from "./prepared-call.js";
import type { ProgressReport } from "./progress-reporter.js";
import type { Settlement } from "./approval/reviewable-call.js";
import type { ToolParts } from "./tool-runtime.js";
import { unknownByFailure, unknownByResult } from "./missing-tool.js";
import { usableResult } from "./finalize-result.js";
import { ask } from "./user-hooks.js";

export interface ToolRun {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** What the model gave as arguments. */
  readonly given: unknown;
  readonly context: ToolContext;
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
export function runTool(parts: ToolParts, call: ToolRun): Promise<ToolResult> {
  return cancellable(parts, call.context, (cancellation) => run(parts, call, cancellation));
}

/** Everything that comes before the call but its approval. */
export function prepareRun(
  parts: ToolParts,
  call: Pick<ToolRun, "given" | "context">,
): Promise<PreparedCall> {
  return cancellable(parts, call.context, (cancellation) => prepareCall(parts, call, cancellation));
}

/** Ends with the caller's signal, or with the toolset. */
async function cancellable<T>(
  parts: ToolParts,
  { signal }: ToolContext,
  work: (cancellation: CancelScope) => T | Promise<T>,
): Promise<T> {
  const cancellation = CancelScope.fromSignal(signal);
  const forget = parts.caller.closed?.onCancel((reason) => cancellation.cancel(reason));
  try {
    cancellation.throwIfCancelled();
    return await work(cancellation);
  } finally {
    forget?.();
    cancellation.release();
  }
}

async function run(parts: ToolParts, call: ToolRun, cancellation: CancelScope): Promise<ToolResult> {
  const { context, report } = call;
  const { settings, slots } = parts;
  const settled: Settlement = call.settled ?? {
    type: "unasked",
    prepared: await prepareCall(parts, call, cancellation),
  };
  const isReady = settled.type === "unasked" && !settled.prepared.needsApproval;
  const { args, headers } = isReady
    ? settled.prepared
    : await clearedCall(parts, call, settled, cancellation);
  const { meta: metaOption, afterToolCall } = settings;
  const meta =
    typeof metaOption === "function"
      ? await ask(cancellation, () => metaOption(context.forUser()))
      : metaOption;
  const preview = afterToolCall === undefined ? undefined : previewOf(parts, args, context);
  const leave = slots === undefined ? undefined : await slots.enter(cancellation);
  try {
    const result = await callAskingInGraph((input) => send(parts, call, { args, headers, meta, input }), {
      server: parts.server,
      tool: call.name,
      context,
      held: call.held,
    });
    const unknown = result.isError
      ? await unknownByResult(parts, result, { context, cancellation })
      : undefined;
    if (unknown !== undefined) throw unknown;
    if (result.inputRequired !== undefined) return result;
    const isPlain = preview === undefined && parts.schema.outputCheck === undefined;
    return isPlain ? result : await usableResult(parts, result, { preview, cancellation });
  } catch (error) {
    throw await unknownByFailure(parts, error, { context, cancellation });
  } finally {
    leave?.();
    if (report !== undefined) await report.end();
  }
}

interface ReadyCall extends Pick<PreparedCall, "args" | "headers"> {
  readonly meta: JsonObject | undefined;
  readonly input: CallInput | undefined;
}

function send(
  parts: ToolParts,
  { context, timeoutMs, report }: ToolRun,
  { args, headers, meta, input }: ReadyCall,
): Promise<ToolResult> {
  const { caller, rule, schema } = parts;
  const { filler, info } = schema;
  return caller.callTool(
    { name: info.name, args, id: context.toolCallId },
    {
      signal: context.signal,
      timeoutMs: shorter(timeoutMs, rule.timeoutMs),
      context,
      meta,
      headers,
      idempotent: isIdempotent(parts),
      recordedArgs: () => visibleArguments(parts, args),
      secrets: filler.isEmpty ? undefined : filler.secretsIn(args),
      onProgress: report === undefined ? undefined : (progress: Progress) => report.hear(progress),
      input,
    },
  );
}

/** The call as it may be sent: as a door has settled it, or approved here. */
async function clearedCall(
  parts: ToolParts,
  call: ToolRun,
  settled: Settlement,
  cancellation: CancelScope,
): Promise<PreparedCall> {
  switch (settled.type) {
    case "failed":
    case "rejected":
      throw settled.failure;
    case "cleared":
      if (settled.note !== undefined) call.onNote?.(settled.note);
      return settled.prepared;
    case "unasked": {
      const { prepared } = settled;
      if (!prepared.needsApproval) return prepared;
      const { name, context } = call;
      const answer = await approve(parts, { name, prepared, context }, cancellation);
      return clearedCall(parts, call, answer, cancellation);
    }
  }
}

/** The user's word first, then the server's where it is trusted. */
function isIdempotent({ rule, schema: { info }, trustAnnotations }: ToolParts): boolean {
  const { idempotentHint, readOnlyHint } = info.annotations ?? {};
  return rule.idempotent ?? (trustAnnotations && (idempotentHint === true || readOnlyHint === true));
}

/** Of two limits, where 0 means none. */
function shorter(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > 0 && other > 0 ? Math.min(one, other) : Math.max(one, other);
}
