import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  readAnswers,
  type DeferredCall,
  type InputRequest,
  type InterruptedCall,
  toInterrupt,
} from "./interrupt-for-input.js";
import { GraphTask } from "../graph-task.js";
import { previousApproval } from "../approval/approval-request.js";
import type { McpTool } from "../mcp-tool.js";

/** The value of a LangGraph interrupt when servers need input for several calls of one message. */
export interface InputRequests {
  readonly type: "mcp_inputs";
  readonly questions: readonly InputRequest[];
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

interface TrackedCall extends DeferredCall {
  readonly tool: McpTool;
}

/** A person does not give this many invalid answers: a program answers in a loop. */
const MAX_ROUNDS = 1_000;

/**
 * The calls of one message that run in one task, and the input that their servers need. The resumed task runs
 * again from its start, so the results of finished calls are saved with the interrupt.
 */
export class MessageInputs {
  readonly #task: GraphTask;
  readonly #lastQuestion: unknown;
  readonly #calls = new Map<string, TrackedCall>();
  readonly #results: Map<string, unknown>;
  #answers: ReadonlyMap<string, DeferredCall["input"]> = new Map();
  #round = 0;

  private constructor(task: GraphTask, lastQuestion: unknown) {
    this.#task = task;
    this.#lastQuestion = lastQuestion;
    this.#results = new Map(isInterruptedMessage(lastQuestion) ? Object.entries(lastQuestion.results) : []);
  }

  /** Returns `undefined` when the graph cannot be interrupted. */
  static async open(config: RunnableConfig): Promise<MessageInputs | undefined> {
    const task = new GraphTask(config);
    if (task.interrupt === undefined) return undefined;
    const lastQuestion = task.isResumed ? await task.lastQuestion() : undefined;
    const inputs = new MessageInputs(task, lastQuestion);
    if (isInterruptedMessage(lastQuestion)) await inputs.#requestAnswers(lastQuestion);
    return inputs;
  }

  /** Returns the result of a call that finished before the interrupt. */
  savedResult({ id = "" }: ToolCall): unknown {
    return this.#results.get(id);
  }

  /** Registers a call whose server may need input. */
  track(tool: McpTool, { id = "" }: ToolCall): TrackedCall {
    const call = { tool, input: this.#answers.get(id) ?? {}, required: undefined };
    this.#calls.set(id, call);
    return call;
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
    const results = Object.fromEntries(this.#results);
    const approval = isInterruptedMessage(this.#lastQuestion)
      ? this.#lastQuestion.approval
      : previousApproval(this.#lastQuestion);
    const question: InterruptedMessage = {
      type: "mcp_inputs",
      questions,
      results,
      round: this.#round + 1,
      approval,
    };
    this.#task.interrupt?.(question);
    throw new McpRuntimeError("denied", "The graph was not interrupted for an input request.");
  }

  async #requestAnswers(interrupted: InterruptedMessage): Promise<void> {
    for (let round = 1; round < interrupted.round; round += 1) this.#task.interrupt?.(interrupted);
    let question = interrupted;
    for (let round = interrupted.round; round < MAX_ROUNDS; round += 1) {
      const answer = this.#task.interrupt?.(question);
      const error = await this.#acceptAnswers(interrupted.questions, answer);
      this.#round = round;
      if (error === undefined) return;
      question = { ...interrupted, error, round: round + 1 };
    }
    throw new McpRuntimeError("denied", "No valid answer was received.");
  }

  /** Returns what is wrong with the answer. */
  async #acceptAnswers(questions: readonly InterruptedCall[], answer: unknown): Promise<string | undefined> {
    const answers = new Map<string, DeferredCall["input"]>();
    for (const question of questions) {
      const result = await readAnswers(question, answer);
      if ("error" in result) return result.error;
      const { toolCallId, required } = question;
      answers.set(toolCallId, { responses: result.responses, requestState: required.requestState });
    }
    this.#answers = answers;
    return undefined;
  }
}

function isInterruptedMessage(question: unknown): question is InterruptedMessage {
  return isPlainObject(question) && question["type"] === "mcp_inputs";
}
