import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallContext } from "../config/call-context.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { McpToolDetails } from "./tool-details.js";

/**
 * Who calls a tool, read from the run's config when somebody looks: most calls ask nobody. Functions of
 * the user's get `forUser()`.
 */
export class ToolContext implements CallContext {
  readonly purpose = "call";
  readonly server: string;
  readonly tool: string;
  readonly toolCallId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly runId: string | undefined;
  readonly #config: RunnableConfig;

  constructor({ server, name }: McpToolDetails, config: RunnableConfig, runId?: string) {
    const { toolCall } = config as JsonObject;
    this.server = server;
    this.tool = name;
    // A tool call without an id is one all the same: its failure is told, not thrown.
    this.toolCallId = isPlainObject(toolCall) ? idOf(toolCall) : undefined;
    this.signal = config.signal;
    this.runId = runId;
    this.#config = config;
  }

  /** The run's own: not for users, who could change it. */
  get runConfig(): RunnableConfig {
    return this.#config;
  }

  get configurable(): JsonObject {
    return { ...this.#config.configurable };
  }

  get context(): unknown {
    return (this.#config as JsonObject)["context"];
  }

  get state(): unknown {
    return (this.#config as JsonObject)["state"];
  }

  get store(): unknown {
    return (this.#config as JsonObject)["store"];
  }

  get config(): JsonObject {
    const config: JsonObject = { ...this.#config };
    const { toolCall } = config;
    return isPlainObject(toolCall) ? { ...config, toolCall: structuredClone(toolCall) } : config;
  }

  /** A plain object, and copies as far as they can be made. */
  forUser(): CallContext {
    const { purpose, server, tool, toolCallId, configurable } = this;
    const { context, state, store, signal, runId, config } = this;
    return { purpose, server, tool, toolCallId, configurable, context, state, store, signal, runId, config };
  }
}

/** LangChain keeps the time limit of a run in its metadata, next to the signal that enforces it. */
export function timeoutOf({ metadata }: RunnableConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

function idOf({ id }: JsonObject): string {
  return typeof id === "string" ? id : "";
}
