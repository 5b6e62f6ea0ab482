import type { Clock } from "../async/clock.js";
import { mapLimited } from "../async/map-concurrent.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import {
  type CallInput,
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  checkConcurrency,
  checkOptions,
  DEFAULT_CALL_CONCURRENCY,
  type ToolCall,
} from "./call-options.js";
import { checkCall } from "./check-call.js";
import { RequestTrace } from "./request-context.js";
import { outcomeOf } from "./to-outcome.js";
import type { Requester } from "./request-runner.js";
import { toCheckedResult, type ToolResult, toToolResult } from "./tool-result.js";

interface ToolCallsParts {
  readonly server: string;
  readonly clock: Clock;
  readonly requester: Requester;
}

/** Calls the tools of one server. */
export class ToolCalls {
  readonly #parts: ToolCallsParts;

  constructor(parts: ToolCallsParts) {
    this.#parts = parts;
  }

  call<Output>(call: ToolCall, options: CallToolOptions<Output>): Promise<ToolResult<Output>> {
    return this.#send(call, options, call?.id, new RequestTrace());
  }

  try<Output>(call: ToolCall, options: CallToolOptions<Output>): Promise<CallOutcome<Output>> {
    return outcomeOf({ ...this.#parts, call }, (requestId, trace) =>
      this.#send(call, options, requestId, trace),
    );
  }

  async many(calls: readonly ToolCall[], options: CallToolsOptions): Promise<CallOutcome[]> {
    const { server } = this.#parts;
    if (!Array.isArray(calls)) throw notCalls(server, calls);
    checkOptions(server, options);
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...each } = options;
    checkConcurrency(server, concurrency);
    return mapLimited(calls, concurrency, (call) => this.try(call, each));
  }

  async #send<Output>(
    call: ToolCall,
    options: CallToolOptions<Output>,
    requestId: string | undefined,
    trace: RequestTrace,
  ): Promise<ToolResult<Output>> {
    const { server, requester } = this.#parts;
    checkCall(server, call, options);
    const { name: tool, args = {} } = call;
    const {
      signal,
      timeoutMs,
      onProgress,
      headers,
      context,
      output,
      meta,
      input,
      idempotent = false,
    } = options;
    const params: JsonObject = { name: tool, arguments: args };
    if (meta !== undefined) params["_meta"] = meta;
    if (input !== undefined) Object.assign(params, toInputParams(input));
    const details = {
      signal,
      timeoutMs,
      onProgress,
      headers,
      holdsInput: input !== undefined,
      context,
      tool,
      toolCallId: call.id,
      requestId,
      trace,
      isIdempotent: idempotent,
      recordedArgs: options.recordedArgs,
      secrets: options.secrets,
    };
    const result = await requester.request("tools/call", params, details);
    const origin = { server, tool, attempts: trace.attempts };
    return output === undefined ? toToolResult(result, origin) : toCheckedResult(result, origin, output);
  }
}

function notCalls(server: string, found: unknown): McpRuntimeError {
  const message = `expected a list of { name, args }, found ${describeValue(found)}`;
  return configError("The call of callTools", [{ path: "", message }], { server });
}

function toInputParams({ responses, state }: CallInput): JsonObject {
  return {
    ...(responses === undefined ? {} : { inputResponses: responses }),
    ...(state === undefined ? {} : { requestState: state }),
  };
}
