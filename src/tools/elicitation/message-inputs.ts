import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  answersTo,
  type HeldCall,
  type InputRequest,
  type PausedCall,
  toPaused,
} from "./interrupt-for-input.js";
import { GraphTask } from "../graph-task.js";
import { lastApproval } from "../approval/previous-approval.js";
import type { McpTool } from "../mcp-tool.js";

/** What a graph pauses with when servers want to know something for several calls of one message. */
export interface InputRequests {
  readonly type: "mcp_inputs";
  readonly questions: readonly InputRequest[];
  /** What was wrong with the last answer. */
  readonly problem?: string;
}

/** What goes into the checkpoint with the questions. */
interface PausedMessage extends InputRequests {
  readonly questions: readonly PausedCall[];
  /** What the other calls gave, by their ids: they do not run again. */
  readonly done: Readonly<Record<string, unknown>>;
  readonly round: number;
  readonly approval?: unknown;
}

interface CallNote extends HeldCall {
  readonly tool: McpTool;
}

/** More wrong answers than any person gives: something answers by itself. */
const MOST_ROUNDS = 1_000;

/**
 * The calls of one message that run in one task, and what their servers want to know. The task runs
 * again from its start when the graph goes on: what was done by then is kept with the question.
 */
export class MessageInput {
  readonly #task: GraphTask;
  readonly #last: unknown;
  readonly #notes = new Map<string, CallNote>();
  readonly #done: Map<string, unknown>;
  #answers: ReadonlyMap<string, HeldCall["input"]> = new Map();
  #round = 0;

  private constructor(task: GraphTask, last: unknown) {
    this.#task = task;
    this.#last = last;
    this.#done = new Map(isPausedMessage(last) ? Object.entries(last.done) : []);
  }

  /** Nothing, where nobody can be asked. */
  static async open(config: RunnableConfig): Promise<MessageInput | undefined> {
    const task = new GraphTask(config);
    if (task.interrupt === undefined) return undefined;
    const last = task.isResumed ? await task.lastQuestion() : undefined;
    const input = new MessageInput(task, last);
    if (isPausedMessage(last)) await input.#hearAnswers(last);
    return input;
  }

  /** What a call gave before the graph paused. */
  resultOf({ id = "" }: ToolCall): unknown {
    return this.#done.get(id);
  }

  /** Has a call wait for what is asked here. */
  hold(tool: McpTool, { id = "" }: ToolCall): CallNote {
    const note = { tool, input: this.#answers.get(id) ?? {}, required: undefined };
    this.#notes.set(id, note);
    return note;
  }

  /** What a call gave: it does not run again. */
  keep({ id = "" }: ToolCall, output: unknown): void {
    if (this.#notes.get(id)?.required === undefined) this.#done.set(id, output);
  }

  /** Pauses the graph, if a server wants to know something. */
  pauseIfAsked(): void {
    const questions = [...this.#notes].flatMap(([toolCallId, { tool, required }]) => {
      const about = { server: tool.mcp.server, tool: tool.name, toolCallId, round: 1 };
      return required === undefined ? [] : [toPaused(required, about, undefined)];
    });
    if (questions.length === 0) return;
    const done = Object.fromEntries(this.#done);
    const approval = isPausedMessage(this.#last) ? this.#last.approval : lastApproval(this.#last);
    const question: PausedMessage = { type: "mcp_inputs", questions, done, round: this.#round + 1, approval };
    this.#task.interrupt?.(question);
    throw new McpRuntimeError("denied", "The graph did not pause for a question.");
  }

  async #hearAnswers(paused: PausedMessage): Promise<void> {
    for (let round = 1; round < paused.round; round += 1) this.#task.interrupt?.(paused);
    let question = paused;
    for (let round = paused.round; round < MOST_ROUNDS; round += 1) {
      const said = this.#task.interrupt?.(question);
      const problem = await this.#take(paused.questions, said);
      this.#round = round;
      if (problem === undefined) return;
      question = { ...paused, problem, round: round + 1 };
    }
    throw new McpRuntimeError("denied", "Nobody gave an answer that fits.");
  }

  async #take(questions: readonly PausedCall[], said: unknown): Promise<string | undefined> {
    const answers = new Map<string, HeldCall["input"]>();
    for (const question of questions) {
      const answered = await answersTo(question, said);
      if ("problem" in answered) return answered.problem;
      const { toolCallId, required } = question;
      answers.set(toolCallId, { responses: answered.responses, state: required.state });
    }
    this.#answers = answers;
    return undefined;
  }
}

function isPausedMessage(question: unknown): question is PausedMessage {
  return isPlainObject(question) && question["type"] === "mcp_inputs";
}
