import { ToolResult } from "../client/tool-result.js";
import { Cancellation } from "../concurrency/cancellation.js";
import type { CallContext } from "../definitions/call-context.js";
import type { JsonObject } from "../definitions/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { approve, needsApproval } from "./approval.js";
import { checkArguments, prepareArguments } from "./prepare-arguments.js";
import { refreshSchema } from "./refresh-schema.js";
import { refusal } from "./refusal.js";
import { isBubblingUp } from "./tool-failure.js";
import type { CallPreview } from "./tool-options.js";
import type { ToolParts } from "./tool-parts.js";
import { unlessUnknown } from "./unknown-tool.js";
import { ask, checkChanges, checkReplacement } from "./user-code.js";

export interface ToolRun {
  /** What the model gave as arguments. */
  readonly given: unknown;
  readonly context: CallContext;
  /** The run's own time limit. */
  readonly timeoutMs: number | undefined;
}

/** One call from the model's arguments to the server's result. Nothing is sent before all checks are passed. */
export async function runTool(parts: ToolParts, call: ToolRun): Promise<ToolResult> {
  const cancellation = Cancellation.fromSignal(call.context.signal);
  const forget = parts.caller.closed?.onCancel((reason) => cancellation.cancel(reason));
  try {
    cancellation.throwIfCancelled();
    return await run(parts, call, cancellation);
  } finally {
    forget?.();
    cancellation.release();
  }
}

async function run(parts: ToolParts, call: ToolRun, cancellation: Cancellation): Promise<ToolResult> {
  const { given, context } = call;
  const { settings, caller, rule, slots } = parts;
  if (parts.refreshesSchema) await refreshSchema(parts, context, cancellation);
  const { info, filler } = parts.schema;
  const filled = await prepareArguments(parts, given, context, cancellation);
  const changes = await beforeCall(parts, filled, context, cancellation);
  const args = changes.args ?? filled;
  if (needsApproval(parts, args))
    await approve(parts, previewOf(parts, filler.masked(args), context), cancellation);
  const { meta: metaOption, afterCall } = settings;
  const meta =
    typeof metaOption === "function" ? await ask(cancellation, () => metaOption(context)) : metaOption;
  const preview = afterCall === undefined ? undefined : previewOf(parts, args, context);
  const leave = await slots?.enter(cancellation);
  try {
    const timeoutMs = shortest(call.timeoutMs, rule.timeoutMs);
    const toolCall = { name: info.name, args, id: context.toolCallId };
    const calling = caller.callTool(toolCall, {
      signal: context.signal,
      timeoutMs,
      context,
      meta,
      headers: changes.headers,
      idempotent: isIdempotent(parts),
    });
    const result = await unlessUnknown(parts, calling, { context, cancellation });
    return await usable(parts, result, preview, cancellation);
  } finally {
    leave?.();
  }
}

async function beforeCall(
  parts: ToolParts,
  args: JsonObject,
  context: CallContext,
  cancellation: Cancellation,
) {
  const { beforeCall: hook } = parts.settings;
  if (hook === undefined) {
    checkArguments(parts, args);
    return {};
  }
  const changes = checkChanges(await ask(cancellation, () => hook(previewOf(parts, args, context))));
  if (changes.veto !== undefined) throw refusal(parts, changes.veto);
  checkArguments(parts, changes.args ?? args);
  return changes;
}

/** A copy: what a hook does to it harms nobody. */
function previewOf(
  { server, schema: { info } }: ToolParts,
  args: JsonObject,
  context: CallContext,
): CallPreview {
  return { server, tool: info.name, args: structuredClone(args), context };
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
