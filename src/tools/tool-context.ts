import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallContext } from "../config/call-context.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { McpToolDetails } from "./tool-runtime.js";

/** The context of a call, read lazily from the run's config. User callbacks receive `toPlainContext()`. */
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
    // A tool call without an id counts, too: its failure is returned, not thrown.
    this.toolCallId = isPlainObject(toolCall) ? toolCallIdOf(toolCall) : undefined;
    this.signal = config.signal;
    this.runId = runId;
    this.#config = config;
  }

  /** The original config. Not for user callbacks, which could mutate it. */
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

  /** Returns a plain object with copies where copying is possible. */
  toPlainContext(): CallContext {
    const { purpose, server, tool, toolCallId, configurable } = this;
    const { context, state, store, signal, runId, config } = this;
    return { purpose, server, tool, toolCallId, configurable, context, state, store, signal, runId, config };
  }
}

/** LangChain stores the timeout of a run in its metadata, in addition to the signal that enforces it. */
export function configTimeout({ metadata }: RunnableConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

function toolCallIdOf({ id }: JsonObject): string {
  return typeof id === "string" ? id : "";
}
