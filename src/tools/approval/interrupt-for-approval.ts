import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ApprovalRequest, type Decision, readDecisions } from "./approval-request.js";
import { GraphTask } from "../graph-task.js";
import { lastApproval } from "./previous-approval.js";
import type { AskedAction, ReviewedCall } from "./reviewable-call.js";

/** An answer to a call; `undefined` where what was answered is not what would be sent now. */
export type Answer = Decision | undefined;

/** More wrong answers than any person gives: something answers by itself. */
const MOST_QUESTIONS = 1_000;

export function canAskInGraph(config: RunnableConfig): boolean {
  return new GraphTask(config).interrupt !== undefined;
}

/**
 * Pauses the graph once, with one question for all these calls, and gives the answers when it goes on.
 * An answer that does not fit is asked for again.
 *
 * The task runs again from its start when the graph goes on, perhaps in another process, where the
 * calls have been prepared anew. So what is answered there is compared with what was asked.
 */
export async function askInGraph(
  calls: readonly ReviewedCall[],
  config: RunnableConfig,
): Promise<readonly Answer[]> {
  const task = new GraphTask(config);
  const decisions = decisionsOf(calls, task);
  if (calls.every(({ wasAsked }) => wasAsked)) return decisions;
  const asked = actionsOf(lastApproval(await task.lastQuestion()));
  return calls.map((call, index) =>
    asked.length === calls.length && call.isSameAs(asked[index]) ? decisions[index] : undefined,
  );
}

function decisionsOf(calls: readonly ReviewedCall[], task: GraphTask): Decision[] {
  let problem = "";
  for (let questions = 0; questions < MOST_QUESTIONS; questions += 1) {
    const decisions = readDecisions(pause(calls, task, problem), actionsIn(calls));
    problem = typeof decisions === "string" ? decisions : problemsOf(calls, decisions);
    if (typeof decisions !== "string" && problem === "") return decisions;
  }
  throw new McpRuntimeError("denied", `Nobody gave an answer that fits: ${problem}`);
}

function pause(calls: readonly ReviewedCall[], task: GraphTask, problem: string): unknown {
  try {
    return task.interrupt?.(requestFor(calls, problem));
  } catch (error) {
    for (const call of calls) call.wasAsked = true;
    throw error;
  }
}

function requestFor(calls: readonly ReviewedCall[], problem: string): ApprovalRequest {
  return {
    actionRequests: calls.map((call) => ({
      ...(call.action ?? { name: "", args: {} }),
      description: [problem, call.describe()].filter((text) => text !== "").join("\n"),
    })),
    reviewConfigs: calls.map(({ reviewConfig }) => reviewConfig),
  };
}

function problemsOf(calls: readonly ReviewedCall[], decisions: readonly Decision[]): string {
  const problems = decisions.flatMap((decision, index) => calls[index]?.problemOf(decision) ?? []);
  return problems.join("\n");
}

function actionsIn(calls: readonly ReviewedCall[]): AskedAction[] {
  return calls.flatMap(({ action }) => action ?? []);
}

function actionsOf(question: unknown): readonly AskedAction[] {
  const actions = isPlainObject(question) ? question["actionRequests"] : undefined;
  return Array.isArray(actions) ? (actions as AskedAction[]) : [];
}
