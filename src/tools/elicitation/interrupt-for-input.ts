import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type CallInput, TASK_ACTIONS, type TaskAction } from "../../client/call-options.js";
import type { McpTask } from "../../client/tasks/mcp-task.js";
import type { InputRequired } from "../../client/tool-result.js";
import type { FormElicitation, UrlElicitation } from "../../config/server-request-handlers.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { printValue } from "../../errors/sanitize-text.js";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject, toObject } from "../../json/json.js";
import {
  createElicitationHandler,
  parseElicitation,
} from "../../session/server-requests/elicitation-handler.js";
import { HandlerError } from "../../session/server-requests/server-request-handler.js";
import { GraphTask, MAX_INTERRUPTS, toApprovalRequest } from "../graph-task.js";
import type { McpTool } from "../mcp-tool.js";
import type { CallInterceptor, InputSource, ToolRun } from "../tool-run.js";

/** The value of a LangGraph interrupt when a server needs input from a person before it runs a tool. */
export interface InputRequest {
  /** Tells this value from those of other interrupts. */
  readonly type: "mcp_input";
  /** The name of the server. */
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  /** The id of the tool call; the key of its answers in `InputResponse`. */
  readonly toolCallId: string;
  /** The elicitation requests, by the server's keys. */
  readonly requests: Readonly<Record<string, FormElicitation | UrlElicitation>>;
  /** What was wrong with the previous answer. */
  readonly error?: string;
}

/**
 * The value to resume the graph with: an elicitation result for each request, by tool call id and by the
 * request's key. A single request may be answered with `{ action, content }` alone.
 *
 * @example
 * ```ts
 * const resume: InputResponse = {
 *   answers: { [toolCallId]: { where: { action: "accept", content: { city: "Rome" } } } },
 * };
 * await agent.invoke(new Command({ resume }), config);
 * ```
 */
export interface InputResponse {
  /** The elicitation results, by tool call id and by the key of the request. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

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

/** The interrupt as it is saved in the checkpoint, with what is needed to resume the call. */
type InterruptedCall = (InputRequest | TaskPause) & {
  /** How many times the graph task has interrupted the graph for the call, including this time. */
  readonly round: number;
  readonly required: InputRequired;
  /** The approval request that the same task has made before. */
  readonly approval?: unknown;
};

/**
 * Returns a source of input that interrupts the graph; `undefined` where that is not safe. The resumed task runs
 * again from its start, possibly in another process: it then sends the call with the answers, without repeating
 * earlier rounds.
 */
export function openInput({ runtime, context }: ToolRun): InputSource | undefined {
  const { toolCallId } = context;
  if (toolCallId === undefined) return undefined;
  const task = new GraphTask(context.runConfig);
  if (task.interrupt === undefined || !isOnlyCallOfTask(task, toolCallId)) return undefined;
  const source = { server: runtime.server, tool: runtime.name, toolCallId };
  let resumed = NOT_RESUMED;
  return {
    async first() {
      resumed = await resumeTask(task, (question) =>
        isInterruptedCall(question) && question.toolCallId === toolCallId ? [question] : undefined,
      );
      return resumed.inputs.get(toolCallId) ?? {};
    },
    async next(required) {
      const { round, lastQuestion } = resumed;
      const question = toInterrupt(required, { ...source, round: round + 1 }, lastQuestion);
      resumed = { lastQuestion, ...(await requestInputs(task, question, [question])) };
      return resumed.inputs.get(toolCallId) ?? {};
    },
  };
}

/** An interrupt is safe only if the task makes no other call: a resumed task repeats all of its calls. */
function isOnlyCallOfTask(task: GraphTask, toolCallId: string): boolean {
  const singleCall: unknown = Reflect.get(Object(task.input), "lg_tool_call");
  return isPlainObject(singleCall) ? singleCall["id"] === toolCallId : task.hasOnlyCall(toolCallId);
}

type CallSource = Pick<InterruptedCall, "server" | "tool" | "toolCallId">;

function isInterruptedCall(question: unknown): question is InterruptedCall {
  return isPlainObject(question) && (question["type"] === "mcp_input" || question["type"] === "mcp_task");
}

/** The input of each call, by its id, and the last round of interrupts. */
interface RequestedInputs {
  readonly inputs: ReadonlyMap<string, CallInput>;
  readonly round: number;
}

interface ResumedTask extends RequestedInputs {
  /** The value of the task's last interrupt. */
  readonly lastQuestion: unknown;
}

const NOT_RESUMED: ResumedTask = { lastQuestion: undefined, inputs: new Map(), round: 0 };

/**
 * Returns the answers to the last interrupt of a resumed task. `toCalls` returns the calls that it was about, or `undefined`
 * for a question of something else.
 */
async function resumeTask(
  task: GraphTask,
  toCalls: (question: unknown) => readonly InterruptedCall[] | undefined,
): Promise<ResumedTask> {
  const lastQuestion = task.isResumed ? await task.lastQuestion() : undefined;
  const calls = toCalls(lastQuestion);
  if (calls === undefined) return { ...NOT_RESUMED, lastQuestion };
  const interrupted = lastQuestion as InterruptedCall | InterruptedMessage;
  // LangGraph matches answers to interrupts by their order, so a resumed task repeats its earlier interrupts.
  for (let round = 1; round < interrupted.round; round += 1) task.interrupt?.(interrupted);
  return { lastQuestion, ...(await requestInputs(task, interrupted, calls)) };
}

/** Interrupts until a valid answer is received. */
async function requestInputs(
  task: GraphTask,
  interrupted: { readonly round: number; readonly server?: string },
  calls: readonly InterruptedCall[],
): Promise<RequestedInputs> {
  let question: object = interrupted;
  const { round: firstRound } = interrupted;
  for (let round = firstRound; round < firstRound + MAX_INTERRUPTS; round += 1) {
    const inputs = await readAnswers(calls, task.interrupt?.(question));
    if (typeof inputs !== "string") return { inputs, round };
    question = { ...interrupted, error: inputs, round: round + 1 };
  }
  const { server } = interrupted;
  throw new McpRuntimeError("denied", "No valid answer was received.", { server });
}

/** `lastQuestion` is the value of the task's last interrupt, whose approval request is kept. */
function toInterrupt(
  required: InputRequired,
  { server, tool, toolCallId, round }: CallSource & Pick<InterruptedCall, "round">,
  lastQuestion: unknown,
): InterruptedCall {
  const { task, error, ...saved } = required;
  const approval = toApprovalRequest(lastQuestion);
  const details = { server, tool, toolCallId, round, ...(approval === undefined ? {} : { approval }) };
  if (task !== undefined)
    return { type: "mcp_task", ...details, task, required: saved, ...(error === undefined ? {} : { error }) };
  const requests = Object.entries(required.requests).map(([key, request]) => [
    key,
    toRequest(request, server),
  ]);
  return {
    type: "mcp_input",
    ...details,
    requests: Object.fromEntries(requests) as InputRequest["requests"],
    required,
  };
}

function toRequest({ params }: JsonObject, server: string): FormElicitation | UrlElicitation {
  try {
    return parseElicitation(toObject(params));
  } catch (error) {
    const text = `Server "${server}" sent an invalid elicitation request: ${printValue(error)}`;
    throw new McpRuntimeError("invalid-response", text, { server });
  }
}

/** Returns the input of each call, by its id, or what is wrong with the answer. */
async function readAnswers(
  calls: readonly InterruptedCall[],
  answer: unknown,
): Promise<ReadonlyMap<string, CallInput> | string> {
  const inputs = new Map<string, CallInput>();
  for (const call of calls) {
    const { required, toolCallId } = call;
    if (call.type === "mcp_task") {
      const task = readTaskAction(answer, toolCallId);
      if (typeof task === "object") return task.problem;
      inputs.set(toolCallId, { taskId: call.task.taskId, task });
      continue;
    }
    const { requests } = call;
    const keys = Object.keys(requests);
    const isShortForm = isPlainObject(answer) && typeof answer["action"] === "string" && keys.length === 1;
    const byKey: unknown = isShortForm
      ? { [keys[0] ?? ""]: answer }
      : toObject(toObject(answer)["answers"])[toolCallId];
    if (!isPlainObject(byKey)) return `The answer has no entry for call "${toolCallId}".`;
    const extra = Object.keys(byKey).find((key) => !keys.includes(key));
    if (extra !== undefined) return `${extra}: was not requested.`;
    const responses: JsonObject = { ...required.responses };
    for (const key of keys) {
      const response = await readAnswer(required.requests[key] ?? {}, byKey[key]);
      if (typeof response === "string") return `${key}: ${response}`;
      responses[key] = response;
    }
    const { requestState, taskId } = required;
    inputs.set(toolCallId, { responses, requestState, ...(taskId === undefined ? {} : { taskId }) });
  }
  return inputs;
}

/** Returns what to do with the task of a call, or what is wrong with the answer. */
function readTaskAction(answer: unknown, toolCallId: string): TaskAction | { readonly problem: string } {
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

/** Validates an answer like the result of an `onElicitationRequest` handler. Returns what is wrong with it. */
async function readAnswer({ params }: JsonObject, answer: unknown): Promise<JsonObject | string> {
  const elicit = () => answer as never;
  const handle = createElicitationHandler({ elicitForm: elicit, elicitUrl: elicit }, "The answer is invalid");
  const context = { server: "", signal: new AbortController().signal };
  try {
    return await handle(toObject(params))(context);
  } catch (error) {
    if (!(error instanceof HandlerError)) throw error;
    return error.warning ?? error.message;
  }
}

/** The value of a LangGraph interrupt when servers need input for several calls of one message. */
export interface InputRequests {
  /** Tells this value from those of other interrupts. */
  readonly type: "mcp_inputs";
  /** One request for each call, in the order of the calls; for a durable call, its task. */
  readonly questions: readonly (InputRequest | TaskPause)[];
  /** What was wrong with the previous answer. */
  readonly error?: string;
}

/** The interrupt as it is saved in the checkpoint. */
interface InterruptedMessage extends InputRequests {
  readonly questions: readonly InterruptedCall[];
  /** The results of the other calls, by call id: they do not run again. */
  readonly results: Readonly<Record<string, unknown>>;
  readonly round: number;
  readonly approval?: unknown;
}

interface TrackedCall {
  readonly tool: McpTool;
  /** What the server needs; `undefined` if it has not requested anything. */
  required: InputRequired | undefined;
}

/**
 * The calls of one message that run in one task, and the input that their servers need. The resumed task runs
 * again from its start, so the results of finished calls are saved with the interrupt.
 */
export class MessageInputs {
  readonly #task: GraphTask;
  readonly #resumed: ResumedTask;
  readonly #calls = new Map<string, TrackedCall>();
  readonly #results: Map<string, unknown>;

  private constructor(task: GraphTask, resumed: ResumedTask) {
    const { lastQuestion } = resumed;
    this.#task = task;
    this.#resumed = resumed;
    this.#results = new Map(isInterruptedMessage(lastQuestion) ? Object.entries(lastQuestion.results) : []);
  }

  /** Returns `undefined` when the graph cannot be interrupted. */
  static async open(config: RunnableConfig): Promise<MessageInputs | undefined> {
    const task = new GraphTask(config);
    if (task.interrupt === undefined) return undefined;
    const resumed = await resumeTask(task, (question) =>
      isInterruptedMessage(question) ? question.questions : undefined,
    );
    return new MessageInputs(task, resumed);
  }

  /** Returns the result of a call that finished before the interrupt. */
  savedResult({ id = "" }: ToolCall): unknown {
    return this.#results.get(id);
  }

  /** Registers a call whose server may need input. The call then ends, and the graph is interrupted later. */
  track(tool: McpTool, { id = "" }: ToolCall): Pick<CallInterceptor, "openInput"> {
    const call: TrackedCall = { tool, required: undefined };
    this.#calls.set(id, call);
    const source: InputSource = {
      first: () => this.#resumed.inputs.get(id) ?? {},
      next: async (required) => {
        call.required = required;
        return undefined;
      },
    };
    return { openInput: () => source };
  }

  /** Saves the output of a finished call, so that it does not run again. */
  saveResult({ id = "" }: ToolCall, output: unknown): void {
    if (this.#calls.get(id)?.required === undefined) this.#results.set(id, output);
  }

  /** Interrupts the graph if a server needs input. */
  interruptIfNeeded(): void {
    const questions = [...this.#calls].flatMap(([toolCallId, { tool, required }]) => {
      const source = { server: tool.mcp.server, tool: tool.name, toolCallId, round: 1 };
      return required === undefined ? [] : [toInterrupt(required, source, undefined)];
    });
    if (questions.length === 0) return;
    const question: InterruptedMessage = {
      type: "mcp_inputs",
      questions,
      results: Object.fromEntries(this.#results),
      round: this.#resumed.round + 1,
      approval: toApprovalRequest(this.#resumed.lastQuestion),
    };
    this.#task.interrupt?.(question);
    throw new McpRuntimeError("denied", "The graph was not interrupted for an input request.");
  }
}

function isInterruptedMessage(question: unknown): question is InterruptedMessage {
  return isPlainObject(question) && question["type"] === "mcp_inputs";
}
