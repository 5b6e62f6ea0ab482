import type { JsonObject } from "../json/json.js";

/** Who calls, as far as the caller tells: what functions in definitions, rules and hooks are given. */
export interface CallContext {
  /** Whether what a server offers is listed, or used: a tool called, a resource read, a prompt filled in. */
  readonly purpose: "discovery" | "call";
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** `configurable` of the run's config: thread, user, whatever the application puts there. */
  readonly configurable: JsonObject;
  /** LangGraph's run-time context. */
  readonly context: unknown;
  readonly state: unknown;
  readonly store: unknown;
  readonly signal: AbortSignal | undefined;
  /** The LangChain run of the tool that is called, where somebody follows runs. */
  readonly runId?: string | undefined;
  /** The whole config of the run. */
  readonly config: JsonObject;
}
