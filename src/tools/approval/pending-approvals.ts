import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Answer, askInGraph, canAskInGraph } from "./interrupt-for-approval.js";
import { GraphTask } from "../graph-task.js";
import type { McpTool } from "../mcp-tool.js";
import type { ReviewedCall } from "./reviewable-call.js";

/** Where a call stands: in which message of which run. */
export interface CallPlace {
  readonly messageId: string | undefined;
  readonly config: RunnableConfig;
}

/** Calls that nobody came back for are forgotten, the oldest first; they are prepared again if somebody does. */
const MOST_WAITING = 1_000;

/**
 * The calls that wait for an approval, each prepared once: hooks do not run again when the graph goes
 * on in this process. What is prepared may hold secrets and is never written to a checkpoint, so
 * another process prepares it anew.
 */
export class ApprovalDesk {
  readonly #waiting = new Map<string, Promise<ReviewedCall>>();

  /** A call, prepared now or before. */
  review(tool: McpTool, call: ToolCall, place: CallPlace): Promise<ReviewedCall> {
    const key = keyOf(call, place);
    if (key === undefined) return tool.review(call, place.config);
    const known = this.#waiting.get(key);
    if (known !== undefined) return known;
    const reviewing = tool.review(call, place.config);
    this.#waiting.set(key, reviewing);
    reviewing.catch(() => this.#waiting.delete(key));
    for (const oldest of this.#waiting.keys()) {
      if (this.#waiting.size <= MOST_WAITING) break;
      this.#waiting.delete(oldest);
    }
    return reviewing;
  }

  /**
   * One question for all the calls that somebody has to be asked about. Answers are there for the
   * calls that were asked about: none, where nobody has to be asked or can be.
   */
  async ask(
    calls: readonly ReviewedCall[],
    config: RunnableConfig,
  ): Promise<ReadonlyMap<ReviewedCall, Answer>> {
    const open = calls.filter(({ action }) => action !== undefined);
    if (open.length === 0 || !canAskInGraph(config)) return new Map();
    const answers = await askInGraph(open, config);
    return new Map(open.map((call, index) => [call, answers[index]]));
  }

  /** It is about to run: whoever wants to run it once more has to ask once more. */
  forget(call: ToolCall, place: CallPlace): void {
    this.#waiting.delete(keyOf(call, place) ?? "");
  }
}

/** Models count their calls, and some begin anew with every message. */
function keyOf({ id, name }: ToolCall, { messageId, config }: CallPlace): string | undefined {
  if (id === undefined || messageId === undefined) return undefined;
  return JSON.stringify([new GraphTask(config).graph, messageId, id, name]);
}
