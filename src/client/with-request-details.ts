import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ClientRequest } from "./request-context.js";

/** Ended by us while it was under way: whether the server has run it depends on how far it had come. */
const ENDED_HERE: ReadonlySet<FailureKind> = new Set(["timeout", "closed"]);

/** What a request failed of, told as its caller should hear it: with its names, and true of all its attempts. */
export function failureOfRequest(
  failure: McpRuntimeError,
  { tool, trace }: ClientRequest,
  server: string,
): McpRuntimeError {
  const isOpen = ENDED_HERE.has(failure.kind) ? trace.wasSent : failure.outcomeUnknown;
  const outcomeUnknown = isOpen || trace.mayHaveRun;
  return failure.with({ server, tool, attempts: trace.attempts, outcomeUnknown });
}
