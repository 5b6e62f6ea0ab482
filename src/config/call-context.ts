import type { JsonObject } from "../json/json.js";

/** The context of a request: what functions in server definitions, tool rules and hooks receive. */
export interface CallContext {
  /** `discovery`: tools, resources or prompts are listed. `call`: one of them is used. */
  readonly purpose: "discovery" | "call";
  /** The name of the server. */
  readonly server: string;
  /** The name of the tool on the server. */
  readonly tool?: string | undefined;
  /** The id that the model gave the tool call; `undefined` for calls without a model. */
  readonly toolCallId?: string | undefined;
  /** `configurable` of the run's config: thread, user and what else the application sets. */
  readonly configurable: JsonObject;
  /** LangGraph's runtime context. */
  readonly context: unknown;
  /** The whole state of the agent; in a graph, the input of the node that runs the tools. `undefined` for other calls. */
  readonly state: unknown;
  /** LangGraph's store. */
  readonly store: unknown;
  /** Aborted when the call is canceled; `undefined` when it cannot be. */
  readonly signal: AbortSignal | undefined;
  /** The id of the tool's LangChain run, where callbacks trace runs. */
  readonly runId?: string | undefined;
  /** The complete config of the run. */
  readonly config: JsonObject;
}
