import { randomUUID } from "node:crypto";
import type { Clock } from "../async/clock.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CallOutcome, ToolCall } from "./call-options.js";
import { RequestTrace } from "./request-context.js";
import type { ToolResult } from "./tool-result.js";

interface OutcomeParts {
  readonly server: string;
  readonly clock: Clock;
  readonly call: ToolCall;
}

/** How a call ended, as a value. What is no failure of ours, such as the caller's own reason, is thrown. */
export async function outcomeOf<Output>(
  { server, clock, call }: OutcomeParts,
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
