import { randomUUID } from "node:crypto";
import type { McpToolInfo } from "../config/server-features.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { JsonObject } from "../json/json.js";
import {
  type CallInput,
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  assertRequestOptions,
  CALL_TOOLS_OPTIONS,
  type ToolCall,
  assertToolCall,
} from "./call-options.js";
import { type CompletedCall, type DependentCall, runCalls, toOutcome } from "./call-plan.js";
import type { InternalRequestOptions, RequestDependencies } from "./request-runner.js";
import { getCreatedTask, parseTask, PausedTask } from "./tasks/mcp-task.js";
import type { TaskClient } from "./tasks/task-client.js";
import { toValidatedResult, toToolResult } from "./tool-result.js";

interface ToolClientDependencies extends RequestDependencies {
  readonly tasks: TaskClient;
}

type CallDetails = InternalRequestOptions & { readonly tool: string };

/** A server can list other tools each time. */
const MAX_TASK_TOOLS = 10_000;

/** Calls the tools of one server. */
export class ToolClient {
  readonly #deps: ToolClientDependencies;

  /** The tools that can only be called as a task, by the last list. */
  readonly #taskTools = new Set<string>();

  constructor(deps: ToolClientDependencies) {
    this.#deps = deps;
  }

  /** Returns the result and the number of attempts. */
  async call<Output>(
    call: ToolCall,
    options: CallToolOptions<Output>,
    requestId: string | undefined = call?.id,
  ): Promise<CompletedCall<Output>> {
    const { server, runner } = this.#deps;
    assertToolCall(server, call, options);
    const { name: tool } = call;
    const args = call.args ?? call.arguments ?? {};
    const { onProgress, headers, output, meta, input, task, loggableArgs, secrets } = options;
    const params: JsonObject = { name: tool, arguments: args };
    if (meta !== undefined) params["_meta"] = meta;
    if (input !== undefined) Object.assign(params, toInputParams(input));
    if (task === true || this.#taskTools.has(tool)) params["task"] = {};
    const details: CallDetails = {
      signal: options.signal,
      timeoutMs: options.timeoutMs,
      context: options.context,
      onProgress,
      headers,
      deferInput: input !== undefined,
      tool,
      toolCallId: call.id,
      requestId,
      isIdempotent: options.idempotent ?? false,
      loggableArgs,
      secrets,
    };
    let result: unknown;
    let attempts = 1;
    if (input?.taskId === undefined) {
      ({ result, attempts } = await runner.request("tools/call", params, details));
      const created = getCreatedTask(result);
      if (created !== undefined)
        result = await this.#finishTask(created, input?.task, details).catch((error: unknown) => {
          throw error instanceof McpRuntimeError ? error.with({ attempts }) : error;
        });
    } else result = await this.#resumeTask({ ...input, taskId: input.taskId }, details);
    const source = { server, tool, attempts };
    if (output === undefined) return { result: toToolResult(result, source), attempts };
    return { result: await toValidatedResult(result, source, output), attempts };
  }

  /** From now on, tools that can only be called as a task are called as one. */
  rememberTaskTools(listed: readonly McpToolInfo[]): void {
    for (const { name, execution } of listed) {
      this.#taskTools.delete(name);
      if (execution?.taskSupport === "required") this.#taskTools.add(name);
    }
    const maxTools = Math.max(MAX_TASK_TOOLS, listed.length);
    for (const oldest of this.#taskTools) {
      if (this.#taskTools.size <= maxTools) break;
      this.#taskTools.delete(oldest);
    }
  }

  async #finishTask(
    created: JsonObject,
    action: CallInput["task"],
    details: CallDetails,
  ): Promise<JsonObject> {
    const { tasks } = this.#deps;
    const task = parseTask(created, this.#deps);
    if (action !== undefined) return new PausedTask(task).toResult();
    const { tool, deferInput = false } = details;
    return tasks.finishCall({ taskId: task.taskId, tool, created: task, deferInput }, details);
  }

  #resumeTask(
    { taskId, responses, task: action }: CallInput & { readonly taskId: string },
    details: CallDetails,
  ): Promise<JsonObject> {
    const { tasks } = this.#deps;
    const awaited = { taskId, tool: details.tool, responses, deferInput: true };
    return action === undefined
      ? tasks.finishCall(awaited, details)
      : tasks.continueCall(awaited, action, details);
  }

  async tryCall<Output>(call: ToolCall, options: CallToolOptions<Output>): Promise<CallOutcome<Output>> {
    const { server, clock } = this.#deps;
    const requestId = call?.id ?? randomUUID();
    const details = { server, tool: call?.name, requestId };
    return toOutcome(details, clock, () => this.call(call, options, requestId));
  }

  async callMany(
    calls: readonly (ToolCall | DependentCall)[],
    options: CallToolsOptions,
  ): Promise<CallOutcome[]> {
    const { server, redactor } = this.#deps;
    assertRequestOptions(server, options, CALL_TOOLS_OPTIONS);
    const { concurrency, ...callOptions } = options;
    return runCalls(calls, {
      server,
      redactor,
      concurrency,
      signal: callOptions.signal,
      tryCall: (call) => this.tryCall(call, callOptions),
    });
  }
}

function toInputParams({ responses, requestState }: CallInput): JsonObject {
  return {
    ...(responses === undefined ? {} : { inputResponses: responses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
