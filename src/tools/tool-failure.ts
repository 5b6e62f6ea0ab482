import type { ToolResult } from "../client/tool-result.js";
import type { ToolArtifact, ToolFailure } from "../content/tool-artifact.js";
import type { CallContext } from "../definitions/call-context.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/server-text.js";
import type { ToolParts } from "./tool-run.js";

/** What only a person can act on. It is thrown, whoever calls. */
const ALWAYS_THROWN: ReadonlySet<FailureKind> = new Set(["closed", "definition", "cancelled"]);

/** The tool ran and says that it failed. */
export function toolError({ info, server }: ToolParts, result: ToolResult): McpRuntimeError {
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
export function tellableFailure(
  error: unknown,
  { info, server }: ToolParts,
  { signal }: CallContext,
): McpRuntimeError {
  const isCancelled = signal?.aborted === true && error === signal.reason;
  if (isCancelled || isBubblingUp(error)) throw error;
  if (error instanceof McpRuntimeError) {
    if (ALWAYS_THROWN.has(error.kind)) throw error;
    return error;
  }
  // What is left comes from a hook or a rule's function: somebody's code said no.
  const said = quoteServer(error instanceof Error ? error.message : String(error));
  return new McpRuntimeError("refused", `The call of tool "${info.name}" was refused: ${said}`, {
    server,
    tool: info.name,
    cause: error,
  });
}

/** LangGraph marks what has to reach the graph: interrupts and commands to a parent. */
function isBubblingUp(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "is_bubble_up") === true;
}

export function toToolFailure(error: McpRuntimeError): ToolFailure {
  const { kind, message, code, status, server, tool, attempts, outcomeUnknown, issues } = error;
  const retryAt = error.retryAt?.toISOString();
  return { kind, message, code, status, server, tool, attempts, outcomeUnknown, retryAt, issues };
}

/** The artifact of a call that brought nothing. */
export const EMPTY_ARTIFACT: ToolArtifact = {
  structuredContent: undefined,
  meta: undefined,
  isError: true,
  content: [],
};
