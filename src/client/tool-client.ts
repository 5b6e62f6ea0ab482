import { randomUUID } from "node:crypto";
import type { Clock } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import type { JsonObject } from "../json/json.js";
import {
  type CallInput,
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  assertConcurrency,
  assertRequestOptions,
  DEFAULT_CALL_CONCURRENCY,
  type ToolCall,
  assertToolCall,
} from "./call-options.js";
import { RequestTrace } from "./request-context.js";
import type { RequestRunner } from "./request-runner.js";
import { toValidatedResult, type ToolResult, toToolResult } from "./tool-result.js";

interface ToolClientDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly runner: RequestRunner;
}

/** Calls the tools of one server. */
export class ToolClient {
  readonly #deps: ToolClientDependencies;

  constructor(deps: ToolClientDependencies) {
    this.#deps = deps;
  }

  call<Output>(call: ToolCall, options: CallToolOptions<Output>): Promise<ToolResult<Output>> {
    return this.#send(call, options, call?.id, new RequestTrace());
  }

  tryCall<Output>(call: ToolCall, options: CallToolOptions<Output>): Promise<CallOutcome<Output>> {
    return toOutcome({ ...this.#deps, call }, (requestId, trace) =>
      this.#send(call, options, requestId, trace),
    );
  }

  async callMany(calls: readonly ToolCall[], options: CallToolsOptions): Promise<CallOutcome[]> {
    const { server } = this.#deps;
    if (!Array.isArray(calls)) throw invalidCallsError(server, calls);
    assertRequestOptions(server, options);
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...callOptions } = options;
    assertConcurrency(server, concurrency);
    return mapConcurrent(calls, concurrency, (call) => this.tryCall(call, callOptions));
  }

  async #send<Output>(
    call: ToolCall,
    options: CallToolOptions<Output>,
    requestId: string | undefined,
    trace: RequestTrace,
  ): Promise<ToolResult<Output>> {
    const { server, runner } = this.#deps;
    assertToolCall(server, call, options);
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
      deferInput: input !== undefined,
      context,
      tool,
      toolCallId: call.id,
      requestId,
      trace,
      isIdempotent: idempotent,
      loggableArgs: options.loggableArgs,
      secrets: options.secrets,
    };
    const result = await runner.request("tools/call", params, details);
    const source = { server, tool, attempts: trace.attempts };
    return output === undefined ? toToolResult(result, source) : toValidatedResult(result, source, output);
  }
}

function invalidCallsError(server: string, value: unknown): McpRuntimeError {
  const message = `expected an array of { name, args }, got ${describeValue(value)}`;
  return configError("The call to callTools", [{ path: "", message }], { server });
}

function toInputParams({ responses, requestState }: CallInput): JsonObject {
  return {
    ...(responses === undefined ? {} : { inputResponses: responses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

interface OutcomeOptions {
  readonly server: string;
  readonly clock: Clock;
  readonly call: ToolCall;
}

/** Returns the failure of a call as a value. Other errors, such as the abort reason of the caller, are thrown. */
async function toOutcome<Output>(
  { server, clock, call }: OutcomeOptions,
  run: (requestId: string, trace: RequestTrace) => Promise<ToolResult<Output>>,
): Promise<CallOutcome<Output>> {
  const requestId = call?.id ?? randomUUID();
  const trace = new RequestTrace();
  const startedAt = clock.now();
  const details = () => {
    const { attempts } = trace;
    return { server, tool: call?.name, requestId, latencyMs: clock.now() - startedAt, attempts };
  };
  try {
    return { ok: true, result: await run(requestId, trace), ...details() };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return { ok: false, error, ...details() };
  }
}
