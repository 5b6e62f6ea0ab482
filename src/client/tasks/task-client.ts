import { optionKeys } from "../../config/parse-options.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { printValue } from "../../errors/sanitize-text.js";
import { type JsonObject, toObject } from "../../json/json.js";
import {
  assertRequestOptions,
  REQUEST_KEYS,
  type CallToolOptions,
  type RequestOptions,
  type TaskAction,
} from "../call-options.js";
import { startListTimeout } from "../list-reader.js";
import { IDEMPOTENT_CALL, type RequestDependencies } from "../request-runner.js";
import { type ToolResult, toToolResult } from "../tool-result.js";
import { type McpTask, parseTask } from "./mcp-task.js";
import {
  type AwaitedTask,
  getTask,
  isTransient,
  type TaskOptions,
  TaskPoller,
  toTaskDetails,
} from "./task-poller.js";

/** Options of `waitForTask`. */
export interface WaitForTaskOptions extends RequestOptions {
  /**
   * Called with each new status message of the task.
   *
   * @default none
   */
  readonly onProgress?: CallToolOptions["onProgress"];
}

const WAIT_OPTIONS = optionKeys<WaitForTaskOptions>({ ...REQUEST_KEYS, onProgress: true });

const CANCEL_TIMEOUT_MS = 5_000;
const MAX_LIST_PAGES = 100;
const MAX_LISTED_TASKS = 200_000;

/** Reads, awaits and cancels the tasks of one server, in both protocol revisions. */
export class TaskClient {
  readonly #deps: RequestDependencies;

  constructor(deps: RequestDependencies) {
    this.#deps = deps;
  }

  /** Waits for the task of a call, and cancels it if the caller stops waiting. Returns the result as received. */
  async finishCall(awaited: AwaitedTask, options: TaskOptions): Promise<JsonObject> {
    const poller = new TaskPoller(awaited, options, this.#deps);
    try {
      return await poller.run();
    } catch (error) {
      const isClosed = error instanceof McpRuntimeError && error.kind === "closed";
      if (!poller.hasEnded && !isClosed) this.#cancelQuietly(awaited.taskId, options);
      throw error;
    }
  }

  /** Returns the result of a task, or the task itself while it has not ended. Only the action "cancel" cancels it. */
  async continueCall(awaited: AwaitedTask, action: TaskAction, options: TaskOptions): Promise<JsonObject> {
    const poller = new TaskPoller(awaited, options, this.#deps);
    if (action === "cancel") return poller.cancel();
    try {
      const result = await (action === "wait" ? poller.run() : poller.check());
      return result ?? poller.pause();
    } catch (error) {
      if (!isTransient(error)) throw error;
      return poller.pause(error.message);
    }
  }

  /** Waits for a task without cancelling it. */
  async wait(taskId: string, options: WaitForTaskOptions): Promise<ToolResult> {
    const { server } = this.#deps;
    this.#assertTaskId(taskId);
    assertRequestOptions(server, options, WAIT_OPTIONS);
    const result = await new TaskPoller({ taskId, deferInput: false }, options, this.#deps).run();
    return toToolResult(result, { server, tool: "(task)", attempts: 1 });
  }

  async get(taskId: string, options: RequestOptions): Promise<McpTask> {
    this.#assertTaskId(taskId);
    return this.#deps.runner.runOperation(options, async (send) =>
      parseTask(await getTask(send, taskId), this.#deps),
    );
  }

  async cancel(taskId: string, options: RequestOptions): Promise<void> {
    this.#assertTaskId(taskId);
    await this.#deps.runner.runOperation(options, (send) =>
      send("tasks/cancel", { taskId }, toTaskDetails(taskId)),
    );
  }

  /** All or nothing, like other lists. */
  async list(options: RequestOptions): Promise<McpTask[]> {
    const remainingMs = startListTimeout(this.#deps);
    return this.#deps.runner.runOperation(options, async (send) => {
      const tasks: McpTask[] = [];
      let cursor: unknown;
      for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const result = await send("tasks/list", params, { ...IDEMPOTENT_CALL, totalMs: remainingMs() });
        const { tasks: listed, nextCursor = null } = toObject(result);
        if (!Array.isArray(listed)) throw this.#listError("a list of tasks that is not an array");
        if (tasks.length + listed.length > MAX_LISTED_TASKS)
          throw this.#listError(`a list of more than ${MAX_LISTED_TASKS} tasks`, "too-large");
        for (const task of listed) tasks.push(parseTask(task, this.#deps));
        if (nextCursor === null || nextCursor === "") return tasks;
        if (typeof nextCursor !== "string") throw this.#listError("a cursor that is not a string");
        cursor = nextCursor;
      }
      throw this.#listError(`a list of tasks on more than ${MAX_LIST_PAGES} pages`, "too-large");
    });
  }

  #listError(problem: string, kind: FailureKind = "invalid-response"): McpRuntimeError {
    const { server } = this.#deps;
    return new McpRuntimeError(kind, `Server "${server}" sent ${problem}.`, { server });
  }

  /** The caller does not wait for it. */
  #cancelQuietly(taskId: string, { context, headers, secrets = [] }: TaskOptions): void {
    const base = toTaskDetails(taskId);
    const details = { ...base, context, headers, secrets: [...secrets, ...(base.secrets ?? [])] };
    const timeouts = { timeoutMs: CANCEL_TIMEOUT_MS, totalMs: CANCEL_TIMEOUT_MS };
    this.#deps.runner
      .request("tasks/cancel", { taskId }, { ...details, ...timeouts })
      .catch((error: unknown) =>
        this.#deps.events.warn(`A task could not be cancelled: ${printValue(error)}`),
      );
  }

  #assertTaskId(taskId: unknown): void {
    if (typeof taskId === "string" && taskId !== "") return;
    const { server } = this.#deps;
    throw new McpRuntimeError("invalid-config", "Expected the id of a task, a non-empty string.", { server });
  }
}
