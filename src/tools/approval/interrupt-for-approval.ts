import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ApprovalRequest, type Decision, readDecisions, previousApproval } from "./approval-request.js";
import { GraphTask } from "../graph-task.js";
import type { RequestedAction, ReviewableCall } from "./reviewable-call.js";

/** `undefined`: the decision was about other arguments than those that would be sent now. */
export type ApprovalDecision = Decision | undefined;

/** A person does not give this many invalid answers: a program answers in a loop. */
const MAX_ATTEMPTS = 1_000;

export function canInterrupt(config: RunnableConfig): boolean {
  return new GraphTask(config).interrupt !== undefined;
}

/**
 * Interrupts the graph once for all these calls and returns the decisions when it is resumed. Interrupts again
 * after an invalid answer.
 *
 * A resumed task runs again from its start, possibly in another process that has prepared the calls again. So
 * the arguments are compared with those that were requested.
 */
export async function interruptForApproval(
  calls: readonly ReviewableCall[],
  config: RunnableConfig,
): Promise<readonly ApprovalDecision[]> {
  const task = new GraphTask(config);
  const decisions = requestDecisions(calls, task);
  if (calls.every(({ wasRequested }) => wasRequested)) return decisions;
  const requested = readActions(previousApproval(await task.lastQuestion()));
  return calls.map((call, index) =>
    requested.length === calls.length && call.matches(requested[index]) ? decisions[index] : undefined,
  );
}

function requestDecisions(calls: readonly ReviewableCall[], task: GraphTask): Decision[] {
  let problem = "";
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const decisions = readDecisions(interrupt(calls, task, problem), toActions(calls));
    problem = typeof decisions === "string" ? decisions : validateDecisions(calls, decisions);
    if (typeof decisions !== "string" && problem === "") return decisions;
  }
  throw new McpRuntimeError("denied", `No valid answer was received: ${problem}`);
}

function interrupt(calls: readonly ReviewableCall[], task: GraphTask, problem: string): unknown {
  try {
    return task.interrupt?.(createRequest(calls, problem));
  } catch (error) {
    for (const call of calls) call.wasRequested = true;
    throw error;
  }
}

function createRequest(calls: readonly ReviewableCall[], problem: string): ApprovalRequest {
  return {
    actionRequests: calls.map((call) => ({
      ...(call.action ?? { name: "", args: {} }),
      description: [problem, call.describe()].filter((text) => text !== "").join("\n"),
    })),
    reviewConfigs: calls.map(({ reviewConfig }) => reviewConfig),
  };
}

function validateDecisions(calls: readonly ReviewableCall[], decisions: readonly Decision[]): string {
  const problems = decisions.flatMap((decision, index) => calls[index]?.validateDecision(decision) ?? []);
  return problems.join("\n");
}

function toActions(calls: readonly ReviewableCall[]): RequestedAction[] {
  return calls.flatMap(({ action }) => action ?? []);
}

function readActions(question: unknown): readonly RequestedAction[] {
  const actions = isPlainObject(question) ? question["actionRequests"] : undefined;
  return Array.isArray(actions) ? (actions as RequestedAction[]) : [];
}
