import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type ApprovalDecision, interruptForApproval, canInterrupt } from "./interrupt-for-approval.js";
import { GraphTask } from "../graph-task.js";
import type { McpTool } from "../mcp-tool.js";
import type { ReviewableCall } from "./reviewable-call.js";

/** The message and the run that a call belongs to. */
export interface CallLocation {
  readonly messageId: string | undefined;
  readonly config: RunnableConfig;
}

/** The oldest calls are evicted above this; a resumed graph prepares them again. */
const MAX_PENDING = 1_000;

/**
 * Calls that wait for approval. Each is prepared once, so hooks do not run again when the graph resumes in this
 * process. Prepared calls may contain secrets and are never written to a checkpoint, so another process
 * prepares them again.
 */
export class PendingApprovals {
  readonly #pending = new Map<string, Promise<ReviewableCall>>();

  /** Prepares a call, or returns it if it was prepared before. */
  prepare(tool: McpTool, call: ToolCall, location: CallLocation): Promise<ReviewableCall> {
    const key = keyOf(call, location);
    if (key === undefined) return tool.prepareReview(call, location.config);
    const existing = this.#pending.get(key);
    if (existing !== undefined) return existing;
    const reviewable = tool.prepareReview(call, location.config);
    this.#pending.set(key, reviewable);
    reviewable.catch(() => this.#pending.delete(key));
    for (const oldestKey of this.#pending.keys()) {
      if (this.#pending.size <= MAX_PENDING) break;
      this.#pending.delete(oldestKey);
    }
    return reviewable;
  }

  /**
   * Requests decisions with one interrupt for all calls that need approval. The map has only those calls; it is
   * empty when no call needs approval or the graph cannot be interrupted.
   */
  async requestDecisions(
    calls: readonly ReviewableCall[],
    config: RunnableConfig,
  ): Promise<ReadonlyMap<ReviewableCall, ApprovalDecision>> {
    const undecided = calls.filter(({ action }) => action !== undefined);
    if (undecided.length === 0 || !canInterrupt(config)) return new Map();
    const decisions = await interruptForApproval(undecided, config);
    return new Map(undecided.map((call, index) => [call, decisions[index]]));
  }

  /** Call before the call runs: running it again requires a new approval. */
  delete(call: ToolCall, location: CallLocation): void {
    this.#pending.delete(keyOf(call, location) ?? "");
  }
}

/** Call ids alone are not unique: some models number their calls and start again with every message. */
function keyOf({ id, name }: ToolCall, { messageId, config }: CallLocation): string | undefined {
  if (id === undefined || messageId === undefined) return undefined;
  return JSON.stringify([new GraphTask(config).graphKey, messageId, id, name]);
}
