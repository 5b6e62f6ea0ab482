import type { RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject, type JsonObject } from "../json/json.js";

/** What LangGraph's checkpointers have: the interrupts of a task are among the writes of its checkpoint. */
interface Checkpointer {
  getTuple(config: JsonObject): Promise<{ pendingWrites?: [string, string, unknown][] } | undefined>;
}

const INTERRUPT = "__interrupt__";
const CHECKPOINTER = "__pregel_checkpointer";
const SEPARATOR = "|";

/** The task of a LangGraph graph in which a config is used: read from the config alone, so LangGraph is not loaded. */
export class GraphTask {
  readonly #config: RunnableConfig;

  constructor(config: RunnableConfig) {
    this.#config = config;
  }

  /** Pauses the graph with a question, or gives the answer; where there is neither graph nor checkpointer, nothing. */
  get interrupt(): ((question: unknown) => unknown) | undefined {
    const interrupt: unknown = Reflect.get(this.#config, "interrupt");
    const isAbleToPause = typeof interrupt === "function" && this.#checkpointer !== undefined;
    return isAbleToPause ? (interrupt as (question: unknown) => unknown) : undefined;
  }

  /** Tells the graph and its thread from others. */
  get graph(): string {
    return JSON.stringify([this.#configurable["thread_id"], this.#namespace]);
  }

  /** The input of the task: usually the state of the graph. */
  get input(): unknown {
    const scratchpad = this.#configurable["__pregel_scratchpad"];
    return typeof scratchpad === "object" && scratchpad !== null
      ? Reflect.get(scratchpad, "currentTaskInput")
      : undefined;
  }

  /** Somebody has answered a question of this task, so it runs again. */
  get isResumed(): boolean {
    const scratchpad = Object(this.#configurable["__pregel_scratchpad"]) as JsonObject;
    const { resume, nullResume } = scratchpad;
    return nullResume !== undefined || (Array.isArray(resume) && resume.length > 0);
  }

  /** The last question that this task paused with, perhaps in another process. */
  async lastQuestion(): Promise<unknown> {
    const { thread_id, checkpoint_map: checkpoints, __pregel_task_id: task } = this.#configurable;
    const checkpoint_id = isPlainObject(checkpoints) ? checkpoints[this.#namespace] : undefined;
    const place = { thread_id, checkpoint_ns: this.#namespace, checkpoint_id };
    const saved = await this.#checkpointer?.getTuple({ configurable: place });
    const paused = saved?.pendingWrites?.findLast(([id, channel]) => id === task && channel === INTERRUPT);
    const interrupts = [paused?.[2]].flat();
    return Reflect.get(Object(interrupts.at(-1)), "value");
  }

  get #configurable(): JsonObject {
    return this.#config.configurable ?? {};
  }

  get #checkpointer(): Checkpointer | undefined {
    const checkpointer = this.#configurable[CHECKPOINTER];
    const isOne = typeof checkpointer === "object" && checkpointer !== null && "getTuple" in checkpointer;
    return isOne ? (checkpointer as Checkpointer) : undefined;
  }

  /** Of the graph: that of its task without the last part. */
  get #namespace(): string {
    const ofTask = this.#configurable["checkpoint_ns"];
    return typeof ofTask === "string" ? ofTask.split(SEPARATOR).slice(0, -1).join(SEPARATOR) : "";
  }
}
