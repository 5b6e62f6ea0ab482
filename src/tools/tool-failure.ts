import type { ToolResult } from "../client/tool-result.js";
import type { ToolArtifact, ToolFailure } from "./content/tool-artifact.js";
import type { ToolContext } from "./tool-context.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { refusal } from "./denied-error.js";
import type { ToolParts } from "./tool-runtime.js";

/** What only a person can act on. It is thrown, whoever calls. */
const ALWAYS_THROWN: ReadonlySet<FailureKind> = new Set(["closed", "invalid-config", "cancelled"]);

/** The tool ran and says that it failed. */
export function toolError({ schema: { info }, server }: ToolParts, result: ToolResult): McpRuntimeError {
  const said = quoteServer(result.text());
  return new McpRuntimeError(
    "tool-error",
    `Tool "${info.name}" of server "${server}" reported an error: ${said}`,
    {
      server,
      tool: info.name,
      attempts: 1,
    },
  );
}

/**
 * The failure, if a model may be told of it. Throws what has to go through untouched: the caller's
 * own cancellation, LangGraph's interrupts and commands, and what no model can help with.
 */
export function tellableFailure(error: unknown, parts: ToolParts, { signal }: ToolContext): McpRuntimeError {
  if (isBubblingUp(error)) throw error;
  if (error instanceof McpRuntimeError) {
    if (ALWAYS_THROWN.has(error.kind)) throw error;
    return error;
  }
  if (signal?.aborted === true) return outOfTime(signal.reason, parts);
  // What is left comes from a hook or a rule's function. Its words are for its author, not for a model.
  parts.warn(`A function that runs before the call failed: ${String(error)}`);
  return refusal(parts, "a check before the call failed.", error);
}

/** A signal that ran out of time is told; any other is the caller's own, and is thrown as it is. */
function outOfTime(reason: unknown, { schema: { info }, server }: ToolParts): McpRuntimeError {
  if (!(reason instanceof Error && reason.name === "TimeoutError")) throw reason;
  const text = `Tool "${info.name}" ran out of the time that its caller gave it.`;
  return new McpRuntimeError("timeout", text, { server, tool: info.name, cause: reason });
}

/** LangGraph marks what has to reach the graph: interrupts and commands to a parent. */
export function isBubblingUp(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "is_bubble_up") === true;
}

export function toToolFailure(error: McpRuntimeError): ToolFailure {
  const { kind, message, code, status, server, tool, attempts, outcomeUnknown, authorizationUrl } = error;
  const retryAt = error.retryAt?.toISOString();
  const { issues } = error;
  return {
    kind,
    message,
    code,
    status,
    server,
    tool,
    attempts,
    outcomeUnknown,
    retryAt,
    authorizationUrl,
    issues,
  };
}

/** The artifact of a call that brought nothing. */
export const EMPTY_ARTIFACT: ToolArtifact = {
  structuredContent: undefined,
  meta: undefined,
  isError: true,
  content: [],
};
