import type { CancelScope } from "../../async/cancel-scope.js";
import type { ToolContext } from "../tool-context.js";
import { interruptForApproval, canInterrupt } from "./interrupt-for-approval.js";
import { GraphTask, findPendingCalls } from "../graph-task.js";
import { type PreparedCall, toCallPreview } from "../prepare-call.js";
import { deniedError } from "../tool-failure.js";
import { ReviewableCall, type ApprovalOutcome } from "./reviewable-call.js";
import type { ToolRuntime } from "../tool-runtime.js";
import { runHook } from "../user-hooks.js";

const NO_APPROVER =
  "it needs approval, but there is no way to request it (set the option onApproval, or use mcpMiddleware or McpToolNode in a graph with a checkpointer).";
const NOT_ONLY_CALL =
  "it needs approval, which a tool cannot request before the other calls of its message run. " +
  'Use mcpMiddleware(toolset) in createAgent, or McpToolNode(toolset) in a graph (in createReactAgent with version "v1").';

interface ApprovalContext {
  /** The tool's name, as models see it. */
  readonly name: string;
  readonly prepared: PreparedCall;
  readonly context: ToolContext;
}

/**
 * Requests approval from inside the tool, where neither middleware nor tool node has done so: calls `onApproval`,
 * or interrupts the graph if this is the only call of its message.
 */
export async function requestApproval(
  runtime: ToolRuntime,
  { name, prepared, context }: ApprovalContext,
  cancellation: CancelScope,
): Promise<ApprovalOutcome> {
  const { onApproval } = runtime.settings;
  if (onApproval !== undefined) {
    const preview = toCallPreview(runtime, runtime.schema.injector.mask(prepared.args), context);
    const isApproved: unknown = await runHook(cancellation, () => onApproval(preview));
    // Only `true` approves: a truthy value may be a mistake.
    if (isApproved !== true) throw deniedError(runtime, "it was not approved.");
    return { type: "approved", prepared };
  }
  if (!canInterrupt(context.runConfig)) throw deniedError(runtime, NO_APPROVER);
  if (!isOnlyCall(context)) throw deniedError(runtime, NOT_ONLY_CALL);
  const call = new ReviewableCall({ name, runtime, context, outcome: prepared });
  const [decision] = await interruptForApproval([call], context.runConfig);
  return decision === undefined ? call.rejectStale() : call.resolve(decision);
}

/**
 * A resumed task runs again from its start, with every call it makes. So an interrupt is safe only for the only
 * call of a message.
 */
function isOnlyCall({ runConfig, toolCallId }: ToolContext): boolean {
  const { allCalls } = findPendingCalls(new GraphTask(runConfig).input);
  return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
}
