import { TASK_ACTIONS, type TaskAction } from "../../client/call-options.js";
import type { McpTask } from "../../client/tasks/mcp-task.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, toObject } from "../../json/json.js";

/** The value of a LangGraph interrupt while the task of a durable call runs. It contains no arguments. */
export interface TaskPause {
  /** Tells this value from those of other interrupts. */
  readonly type: "mcp_task";
  /** The name of the server. */
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  /** The id of the tool call. */
  readonly toolCallId: string;
  /** The task as last seen. */
  readonly task: McpTask;
  /** What was wrong with the previous answer, or why the status of the task could not be requested. */
  readonly error?: string;
}

/**
 * The value to resume the graph with while a task runs. If it has not ended then, the graph is interrupted again. An
 * answer for one of several calls is `{ answers: { [toolCallId]: { task } } }`.
 *
 * @example
 * ```ts
 * const resume: TaskResponse = { task: "check" };
 * await agent.invoke(new Command({ resume }), config);
 * ```
 */
export interface TaskResponse {
  /** "check" requests the status once, "wait" waits up to `timeouts.taskMs`, "cancel" cancels the task. */
  readonly task: TaskAction;
}

/** Returns what to do with the task of a call, or what is wrong with the answer. */
export function readTaskAction(
  answer: unknown,
  toolCallId: string,
): TaskAction | { readonly problem: string } {
  const { task: forAll, answers, action } = toObject(answer);
  const { task = forAll } = toObject(toObject(answers)[toolCallId]);
  const known = TASK_ACTIONS.find((name) => name === task);
  if (known !== undefined) return known;
  // The answer to the input request of another call reaches this one, too.
  const isForOther = task === undefined && (isPlainObject(answers) || action !== undefined);
  if (isForOther) return "check";
  const expected = `{ task: ${TASK_ACTIONS.map((name) => `"${name}"`).join(" | ")} }`;
  return {
    problem: `The answer about the task of call "${toolCallId}" must be ${expected}, got ${describeValue(task ?? answer)}.`,
  };
}
