import { optionKeys } from "../../config/parse-options.js";
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
    const { server, runner } = this.#deps;
    return runner.runOperation(options, async (send) => {
      const tasks: McpTask[] = [];
      let cursor: unknown;
      for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const result = await send("tasks/list", params, IDEMPOTENT_CALL);
        const { tasks: listed, nextCursor } = toObject(result);
        if (!Array.isArray(listed))
          throw new McpRuntimeError(
            "invalid-response",
            `Server "${server}" sent a list of tasks that is not an array.`,
            { server },
          );
        for (const task of listed) tasks.push(parseTask(task, this.#deps));
        if (typeof nextCursor !== "string" || nextCursor === "") return tasks;
        cursor = nextCursor;
      }
      const text = `Server "${server}" lists tasks on more than ${MAX_LIST_PAGES} pages.`;
      throw new McpRuntimeError("too-large", text, { server });
    });
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
