import { randomUUID } from "node:crypto";
import type { AIMessage, BaseMessage, ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CancelScope } from "../async/cancel-scope.js";
import { delay, systemClock } from "../async/clock.js";
import { isPlainObject, type JsonObject, toArray, toObject } from "../json/json.js";

/** The part of LangGraph's checkpointer that is needed: a task's interrupts are pending writes of its checkpoint. */
interface Checkpointer {
  getTuple(config: JsonObject): Promise<SavedCheckpoint | undefined>;
  putWrites(config: JsonObject, writes: [string, unknown][], taskId: string): Promise<void>;
}

interface SavedCheckpoint {
  readonly pendingWrites?: [string, string, unknown][];
  readonly parentConfig?: JsonObject;
  readonly checkpoint?: {
    readonly id?: unknown;
    readonly channel_values?: JsonObject;
    readonly channel_versions?: JsonObject;
  };
  readonly metadata?: { readonly source?: unknown };
}

/** The channel of our own writes. */
const RECORD = "__mcp_record__";
/** How many checkpoints a message is followed back: `updateState` adds one each time. */
const MAX_ANCESTORS = 100;
const FIRST_SAVE_CHECK_MS = 10;
const SEPARATOR = "|";
/** A person does not give this many invalid answers: a program answers in a loop. */
export const MAX_INTERRUPTS = 1_000;

/**
 * What LangGraph passes to a task in `configurable`, and the channel of its interrupts. These names are private to LangGraph:
 * where one is missing, a call that depends on it is denied.
 */
const CHECKPOINTER = "__pregel_checkpointer";
const DURABILITY = "__pregel_durability";
const READ = "__pregel_read";
const RESUMING = "__pregel_resuming";
/** Has the input of the task (`currentTaskInput`) and the answers to its interrupts (`resume`, `nullResume`). */
const SCRATCHPAD = "__pregel_scratchpad";
const TASK_ID = "__pregel_task_id";
const INTERRUPT = "__interrupt__";
/** Channels that are not part of the state. */
const INTERNAL_CHANNEL = /^(?:__|branch:to:)/;

/** Runs that have already requested approval, keyed by LangGraph's scratchpad of the run. */
const ASKED_RUNS = new WeakSet<object>();

/** Which records are read. */
interface RecordQuery {
  readonly messageId: string | undefined;
  /** Identifies the call in the request to approve it; `undefined` if it was not approved by an interrupt. */
  readonly callHash: string | undefined;
  readonly maxWaitMs: number;
  readonly cancellation: CancelScope;
}

/** The LangGraph task that a config belongs to. Reads only the config, so that LangGraph need not be loaded. */
export class GraphTask {
  readonly #config: RunnableConfig;
  /**
   * Where records are saved: with the first checkpoint that has the message, with that of the interrupt, which all its
   * resumes share, and with this one.
   */
  #recordConfigs: readonly JsonObject[] = [];
  #interruptConfig: JsonObject | undefined;

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
    return this.#configurable[SCRATCHPAD] !== undefined && this.#checkpointer === undefined;
  }

  /** Identifies the graph and its thread. */
  get graphKey(): string {
    return JSON.stringify([this.#configurable["thread_id"], this.#namespace]);
  }

  /** Identifies the checkpoint that the task runs from. */
  get checkpointId(): unknown {
    const { checkpoint_map: checkpoints } = this.#configurable;
    return isPlainObject(checkpoints) ? checkpoints[this.#namespace] : undefined;
  }

  /**
   * What LangGraph's own checkpointer for one process keeps of the thread: other processes cannot run it. A class that
   * extends this checkpointer may save threads elsewhere.
   */
  get processThread(): object | undefined {
    const checkpointer = this.#checkpointer;
    if (checkpointer?.constructor.name !== "MemorySaver") return undefined;
    const threads = Object(Reflect.get(checkpointer, "storage")) as JsonObject;
    const thread = threads[this.#configurable["thread_id"] as string];
    return typeof thread === "object" && thread !== null ? thread : undefined;
  }

  /** Whether LangGraph saves nothing before the run ends: durability "exit", or `checkpointDuring: false`, its old name. */
  get savesOnExit(): boolean {
    const { durability, checkpointDuring } = this.#config as JsonObject;
    if (checkpointDuring === false) return true;
    return (durability ?? this.#configurable[DURABILITY]) === "exit";
  }

  /** The input of the task: usually the state of the graph. */
  get input(): unknown {
    return Reflect.get(this.#scratchpad, "currentTaskInput");
  }

  /**
   * Returns these channels of the graph's state as they were when the task started. Those that are empty, or that the graph
   * does not have, are left out. `undefined` if the state cannot be read.
   */
  readState(channels: readonly string[]): JsonObject | undefined {
    const read = this.#configurable[READ];
    return typeof read === "function" ? toObject(read(channels)) : undefined;
  }

  /** Returns the channels of the checkpoint that the task runs from; `undefined` if it is not saved. */
  async readSavedChannels(): Promise<string[] | undefined> {
    const saved = await this.#read(this.#checkpointConfig);
    const channels = saved?.checkpoint?.channel_versions;
    return channels && Object.keys(channels).filter((channel) => !INTERNAL_CHANNEL.test(channel));
  }

  /** Whether the last message of the state has this call and no other. */
  hasOnlyCall(toolCallId: string | undefined): boolean {
    const { allCalls } = findPendingCalls(this.input);
    return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
  }

  /** Whether this run of the task has not asked before. Calls without an id cannot be distinguished. */
  isFirstRequest(): boolean {
    const isFirst = !ASKED_RUNS.has(this.#scratchpad);
    ASKED_RUNS.add(this.#scratchpad);
    return isFirst;
  }

  /** Whether the task may run again: an interrupt was answered, or the graph goes on without an answer. */
  get isResumed(): boolean {
    const { resume, nullResume } = this.#scratchpad as JsonObject;
    const isAnswered = nullResume !== undefined || (Array.isArray(resume) && resume.length > 0);
    return isAnswered || this.#configurable[RESUMING] === true;
  }

  /** Whether records can be saved. Call `findRecords` first. */
  get canRecord(): boolean {
    return this.#recordConfigs.length > 0;
  }

  /**
   * Whether all runs that resume the interrupt save their records with the same checkpoint. A checkpointer that keeps only
   * the latest checkpoint may have replaced that of the interrupt. Call `findRecords` first.
   */
  get sharesRecords(): boolean {
    return this.#interruptConfig !== undefined;
  }

  /** Reads the value of the task's last interrupt from the checkpoint; it may be from another process. */
  async lastQuestion(): Promise<unknown> {
    const { [TASK_ID]: task } = this.#configurable;
    const saved = await this.#read(this.#checkpointConfig);
    const write = saved?.pendingWrites?.findLast(([id, channel]) => id === task && channel === INTERRUPT);
    const interrupts = [write?.[2]].flat();
    return Reflect.get(Object(interrupts.at(-1)), "value");
  }

  /** Whether the task was interrupted by a request to approve this call. */
  async hasRequestedApproval(toolCallId: string): Promise<boolean> {
    if (!this.isResumed) return false;
    const requests = toActionRequests(await this.lastQuestion());
    return requests.some((request) => toObject(request)["toolCallId"] === toolCallId);
  }

  /**
   * Saves a value with the checkpoint at once, and not when the task ends. It has a task id of its own, so that LangGraph
   * does not take it for an output of the task. Call `findRecords` first.
   */
  async saveRecord(value: unknown): Promise<void> {
    for (const config of this.#recordConfigs)
      await this.#checkpointer?.putWrites(config, [[RECORD, value]], randomUUID());
  }

  /** Returns what all runs have saved about the message. Call `findRecords` first. */
  async readRecords(): Promise<unknown[]> {
    return toRecords(await this.#read(this.#interruptConfig ?? this.#recordConfigs[0]));
  }

  /**
   * Returns what was saved with this checkpoint and with the earlier ones that have the message: `updateState`, time
   * travel and two resumes at once create other checkpoints after that of the message. Waits until the checkpoint is
   * saved, which LangGraph does not.
   *
   * @returns `undefined` if it is not saved: not in time, or not while the task runs (`savesOnExit`)
   */
  async findRecords({ messageId, callHash, ...wait }: RecordQuery): Promise<unknown[] | undefined> {
    let saved = await this.#waitForCheckpoint(wait);
    if (saved === undefined) return undefined;
    const ownConfig = this.#checkpointConfig;
    let config = ownConfig;
    const records = toRecords(saved);
    for (let count = 0; count < MAX_ANCESTORS; count += 1) {
      // The earliest one: a later interrupt, such as a request for input, is not shared by all resumes of this one.
      if (requestsApproval(saved, callHash)) this.#interruptConfig = config;
      const { parentConfig }: SavedCheckpoint = saved;
      const parent = await this.#read(parentConfig);
      if (parentConfig === undefined || parent === undefined || !mayHaveMessage(parent, messageId)) break;
      for (const record of toRecords(parent)) records.push(record);
      saved = parent;
      config = parentConfig;
    }
    this.#recordConfigs = [...new Set([config, this.#interruptConfig ?? config, ownConfig])];
    return records;
  }

  async #waitForCheckpoint({
    maxWaitMs,
    cancellation,
  }: Pick<RecordQuery, "maxWaitMs" | "cancellation">): Promise<SavedCheckpoint | undefined> {
    const deadline = systemClock.now() + maxWaitMs;
    for (let ms = FIRST_SAVE_CHECK_MS; ; ms *= 2) {
      const saved = await this.#read(this.#checkpointConfig);
      const remainingMs = deadline - systemClock.now();
      if (saved !== undefined || this.savesOnExit || remainingMs <= 0) return saved;
      await delay(Math.min(ms, remainingMs), systemClock, cancellation);
    }
  }

  /** A checkpointer that keeps only the latest checkpoint may return it in place of another one. */
  async #read(config: JsonObject | undefined): Promise<SavedCheckpoint | undefined> {
    if (config === undefined) return undefined;
    const saved = await this.#checkpointer?.getTuple(config);
    const { checkpoint_id: id } = Object(config["configurable"]) as JsonObject;
    return id === undefined || saved?.checkpoint?.id === id ? saved : undefined;
  }

  get #checkpointConfig(): JsonObject {
    const { thread_id } = this.#configurable;
    return {
      configurable: { thread_id, checkpoint_ns: this.#namespace, checkpoint_id: this.checkpointId },
    };
  }

  get #configurable(): JsonObject {
    return this.#config.configurable ?? {};
  }

  get #scratchpad(): object {
    return Object(this.#configurable[SCRATCHPAD]) as object;
  }

  get #checkpointer(): Checkpointer | undefined {
    const value = this.#configurable[CHECKPOINTER];
    const isCheckpointer = typeof value === "object" && value !== null && "getTuple" in value;
    return isCheckpointer ? (value as Checkpointer) : undefined;
  }

  /**
   * The namespace of the graph: the task's namespace without its last segment. A `task` of the functional API runs in the
   * namespace of the task that called it, and its checkpoint is that of the graph.
   */
  get #namespace(): string {
    const { checkpoint_ns: taskNamespace, checkpoint_map: checkpoints } = this.#configurable;
    if (typeof taskNamespace !== "string") return "";
    const ids = Object(checkpoints) as JsonObject;
    let namespace = parentNamespace(taskNamespace);
    for (let parent = parentNamespace(namespace); namespace !== parent; parent = parentNamespace(namespace)) {
      if (ids[namespace] === undefined || ids[namespace] !== ids[parent]) break;
      namespace = parent;
    }
    return namespace;
  }
}

function parentNamespace(namespace: string): string {
  return namespace.split(SEPARATOR).slice(0, -1).join(SEPARATOR);
}

/** Whether the graph was interrupted here with a request to approve this call. */
function requestsApproval({ pendingWrites = [] }: SavedCheckpoint, callHash: string | undefined): boolean {
  if (callHash === undefined) return false;
  const interrupts = pendingWrites.flatMap(([, channel, value]) => (channel === INTERRUPT ? value : []));
  const requests = interrupts.flatMap((interrupt) =>
    toActionRequests(Reflect.get(Object(interrupt), "value")),
  );
  return requests.some((request) => toObject(request)["callHash"] === callHash);
}

function toRecords(saved: SavedCheckpoint | undefined): unknown[] {
  return (saved?.pendingWrites ?? []).flatMap(([, channel, value]) => (channel === RECORD ? [value] : []));
}

/** A checkpoint need not contain its messages (delta channels): then they are those of the last input. */
function mayHaveMessage({ checkpoint, metadata }: SavedCheckpoint, messageId: string | undefined): boolean {
  const messages = Object.values(checkpoint?.channel_values ?? {})
    .flat()
    .filter((value) => isBaseMessage(value));
  if (messages.length === 0) return metadata?.source !== "input";
  return messageId !== undefined && messages.some(({ id }) => id === messageId);
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

/** As in LangChain, whose module of all messages would make the import of this package take a tenth longer. */
export function isBaseMessage(value: unknown): value is BaseMessage {
  return typeof (value as { _getType?: unknown } | null | undefined)?._getType === "function";
}

function messagesOf(state: unknown): BaseMessage[] {
  const messages: unknown = isPlainObject(state) ? state["messages"] : state;
  return Array.isArray(messages) ? messages.filter((message) => isBaseMessage(message)) : [];
}

const INPUT_TYPES: ReadonlySet<unknown> = new Set(["mcp_input", "mcp_inputs", "mcp_task"]);

/** Returns the approval request of an interrupt: its value, or the one that is saved with a later input request. */
export function toApprovalRequest(question: unknown): unknown {
  if (!isPlainObject(question)) return undefined;
  return INPUT_TYPES.has(question["type"]) ? question["approval"] : question;
}

/** Returns the calls of an approval request, in its order. */
export function toActionRequests(question: unknown): readonly unknown[] {
  return toArray(toObject(toApprovalRequest(question))["actionRequests"]);
}
