import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallContext } from "../definitions/call-context.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { McpToolDetails } from "./tool-details.js";

/** Copies, as far as they can be made: functions of the user's get this. Made when one of them looks. */
export function toolContext(
  { server, name }: McpToolDetails,
  { config, runId }: { readonly config: RunnableConfig; readonly runId?: string | undefined },
): CallContext {
  const given = config as JsonObject;
  const { toolCall } = given;
  const isCall = isJsonObject(toolCall);
  return {
    purpose: "call",
    server,
    tool: name,
    // A tool call without an id is one all the same: its failure is told, not thrown.
    toolCallId: isCall ? idOf(toolCall) : undefined,
    get configurable() {
      return { ...config.configurable };
    },
    context: given["context"],
    state: given["state"],
    store: given["store"],
    signal: config.signal,
    runId,
    get config() {
      return isCall ? { ...given, toolCall: structuredClone(toolCall) } : { ...given };
    },
  };
}

/** LangChain keeps the time limit of a run in its metadata, next to the signal that enforces it. */
export function timeoutOf({ metadata }: RunnableConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

function idOf({ id }: JsonObject): string {
  return typeof id === "string" ? id : "";
}
