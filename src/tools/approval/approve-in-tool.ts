import type { CancelScope } from "../../async/cancel-scope.js";
import type { ToolContext } from "../tool-context.js";
import { askInGraph, canAskInGraph } from "./interrupt-for-approval.js";
import { GraphTask } from "../graph-task.js";
import { pendingCalls } from "../pending-calls.js";
import { type PreparedCall, previewOf } from "../prepared-call.js";
import { refusal } from "../denied-error.js";
import { ReviewedCall, type Settlement } from "./reviewable-call.js";
import type { ToolParts } from "../tool-runtime.js";
import { ask } from "../user-hooks.js";

const NOBODY =
  "it needs an approval, and nobody is there to give it (option onApproval; in a graph with a checkpointer: mcpMiddleware or McpToolNode).";
const NOT_ALONE =
  "it needs an approval, and from inside a tool nobody can be asked before the other calls of its message run. " +
  'Use mcpMiddleware(toolset) in createAgent, or McpToolNode(toolset) in a graph (in createReactAgent with version "v1").';

interface Asking {
  /** The tool's name, as models see it. */
  readonly name: string;
  readonly prepared: PreparedCall;
  readonly context: ToolContext;
}

/** Asks from inside the tool, where no door has asked before: `onApproval`, or the graph if the call is alone. */
export async function approve(
  parts: ToolParts,
  { name, prepared, context }: Asking,
  cancellation: CancelScope,
): Promise<Settlement> {
  const { onApproval } = parts.settings;
  if (onApproval !== undefined) {
    const preview = previewOf(parts, parts.schema.filler.masked(prepared.args), context);
    const decision: unknown = await ask(cancellation, () => onApproval(preview));
    // Only a plain yes counts: what a careless function gives back is none.
    if (decision !== true) throw refusal(parts, "it was not approved.");
    return { type: "cleared", prepared };
  }
  if (!canAskInGraph(context.runConfig)) throw refusal(parts, NOBODY);
  if (!isAlone(context)) throw refusal(parts, NOT_ALONE);
  const call = new ReviewedCall({ name, parts, context, outcome: prepared });
  const [decision] = await askInGraph([call], context.runConfig);
  return decision === undefined ? call.outdated() : call.settle(decision);
}

/**
 * When the graph goes on, its task runs again from the start, and with it every call that it makes:
 * asking is safe only for the one call of a message.
 */
function isAlone({ runConfig, toolCallId }: ToolContext): boolean {
  const { allCalls } = pendingCalls(new GraphTask(runConfig).input);
  return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
}
