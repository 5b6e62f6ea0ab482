import { type AIMessage, type BaseMessage, isBaseMessage, type ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject, type JsonObject } from "../json/json.js";

/** The part of LangGraph's checkpointer that is needed: a task's interrupts are pending writes of its checkpoint. */
interface Checkpointer {
  getTuple(config: JsonObject): Promise<{ pendingWrites?: [string, string, unknown][] } | undefined>;
}

const INTERRUPT = "__interrupt__";
const CHECKPOINTER = "__pregel_checkpointer";
const SEPARATOR = "|";
/** A person does not give this many invalid answers: a program answers in a loop. */
export const MAX_INTERRUPTS = 1_000;

/** The LangGraph task that a config belongs to. Reads only the config, so that LangGraph need not be loaded. */
export class GraphTask {
  readonly #config: RunnableConfig;

  constructor(config: RunnableConfig) {
    this.#config = config;
  }

  /** Interrupts the graph with a question, or returns its answer. `undefined` without a graph or a checkpointer. */
  get interrupt(): ((question: unknown) => unknown) | undefined {
    const interrupt: unknown = Reflect.get(this.#config, "interrupt");
    const canInterrupt = typeof interrupt === "function" && this.#checkpointer !== undefined;
    return canInterrupt ? (interrupt as (question: unknown) => unknown) : undefined;
  }

  /** Whether the task is part of a graph that cannot be interrupted because it has no checkpointer. */
  get lacksCheckpointer(): boolean {
    return this.#configurable["__pregel_scratchpad"] !== undefined && this.#checkpointer === undefined;
  }

  /** Identifies the graph and its thread. */
  get graphKey(): string {
    return JSON.stringify([this.#configurable["thread_id"], this.#namespace]);
  }

  /** The input of the task: usually the state of the graph. */
  get input(): unknown {
    const scratchpad = this.#configurable["__pregel_scratchpad"];
    return typeof scratchpad === "object" && scratchpad !== null
      ? Reflect.get(scratchpad, "currentTaskInput")
      : undefined;
  }

  /** Whether the last message of the state has this call and no other. */
  hasOnlyCall(toolCallId: string | undefined): boolean {
    const { allCalls } = findPendingCalls(this.input);
    return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
  }

  /** Whether the task runs again because an interrupt was answered. */
  get isResumed(): boolean {
    const scratchpad = Object(this.#configurable["__pregel_scratchpad"]) as JsonObject;
    const { resume, nullResume } = scratchpad;
    return nullResume !== undefined || (Array.isArray(resume) && resume.length > 0);
  }

  /** Reads the value of the task's last interrupt from the checkpoint; it may be from another process. */
  async lastQuestion(): Promise<unknown> {
    const { thread_id, checkpoint_map: checkpoints, __pregel_task_id: task } = this.#configurable;
    const checkpoint_id = isPlainObject(checkpoints) ? checkpoints[this.#namespace] : undefined;
    const configurable = { thread_id, checkpoint_ns: this.#namespace, checkpoint_id };
    const saved = await this.#checkpointer?.getTuple({ configurable });
    const write = saved?.pendingWrites?.findLast(([id, channel]) => id === task && channel === INTERRUPT);
    const interrupts = [write?.[2]].flat();
    return Reflect.get(Object(interrupts.at(-1)), "value");
  }

  get #configurable(): JsonObject {
    return this.#config.configurable ?? {};
  }

  get #checkpointer(): Checkpointer | undefined {
    const value = this.#configurable[CHECKPOINTER];
    const isCheckpointer = typeof value === "object" && value !== null && "getTuple" in value;
    return isCheckpointer ? (value as Checkpointer) : undefined;
  }

  /** The namespace of the graph: the task's namespace without its last segment. */
  get #namespace(): string {
    const taskNamespace = this.#configurable["checkpoint_ns"];
    return typeof taskNamespace === "string"
      ? taskNamespace.split(SEPARATOR).slice(0, -1).join(SEPARATOR)
      : "";
  }
}

interface PendingCalls {
  readonly messageId: string | undefined;
  readonly allCalls: readonly ToolCall[];
  /** The calls without a ToolMessage. */
  readonly unanswered: readonly ToolCall[];
  /** Ids that several calls have: a decision about one of them could be taken for a decision about the other. */
  readonly duplicateIds: ReadonlySet<string | undefined>;
}

/** Finds the tool calls of the last AI message in a graph's state, or in an array of messages. */
export function findPendingCalls(state: unknown): PendingCalls {
  const messages = messagesOf(state);
  const lastMessage = messages.findLast((message): message is AIMessage => message.type === "ai");
  const answeredIds = new Set(messages.map((message) => Reflect.get(message, "tool_call_id")));
  const allCalls = lastMessage?.tool_calls ?? [];
  const unanswered = allCalls.filter(({ id }) => id === undefined || !answeredIds.has(id));
  const ids = allCalls.flatMap(({ id }) => id ?? []);
  const duplicateIds = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return { messageId: lastMessage?.id, allCalls, unanswered, duplicateIds };
}

function messagesOf(state: unknown): BaseMessage[] {
  const messages: unknown = isPlainObject(state) ? state["messages"] : state;
  return Array.isArray(messages) ? messages.filter((message) => isBaseMessage(message)) : [];
}
