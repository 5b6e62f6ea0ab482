import { checkObject } from "../config/assert-object.js";
import type { CallContext } from "../config/call-context.js";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Progress } from "../session/session.js";
import type { OutputSchema, ToolResult } from "./tool-result.js";

export interface ToolCall {
  /** The server's own name of the tool. */
  readonly name: string;
  readonly args?: JsonObject | undefined;
  /** Comes back as `requestId`; one is made when there is none. */
  readonly id?: string | undefined;
}

/** Who asks: what `headers`, `auth` and `identity` of a definition are given. */
export type CallerContext = Partial<
  Pick<CallContext, "configurable" | "context" | "state" | "store" | "config" | "runId">
>;

export interface RequestOptions {
  /** Ends the request at once with the signal's own reason, and tells the server. */
  readonly signal?: AbortSignal | undefined;
  /** `timeouts.requestMs` for this request. */
  readonly timeoutMs?: number | undefined;
  /** Needed where a definition has an `identity`. */
  readonly context?: CallerContext | undefined;
}

export interface ListToolsOptions extends RequestOptions {
  /** Told how long the server says that the list stays as it is, in milliseconds, if it says so. */
  readonly onTimeToLive?: ((ttlMs: number) => void) | undefined;
}

/** Answers for a server that wanted to know something first, and what it wants to be reminded of. */
export interface CallInput {
  readonly responses?: JsonObject | undefined;
  readonly state?: string | undefined;
}

export interface CallToolOptions<Output = unknown> extends RequestOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Checks and types `structuredContent`. */
  readonly output?: OutputSchema<Output> | undefined;
  /** Running it twice does no harm: it may be sent again after a failure that leaves its outcome open. */
  readonly idempotent?: boolean | undefined;
  /**
   * Takes over what a server without sessions asks a person: it comes back as `result.inputRequired`, and
   * the call is made again with the answers. `{}` for a call that has none yet.
   */
  readonly input?: CallInput | undefined;
  /** HTTP headers for this call only. Those that the protocol owns are left out. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Goes to the server as `_meta`. */
  readonly meta?: JsonObject | undefined;
  /** What may be recorded of the arguments, where that is not all of them: asked when somebody records. */
  readonly recordedArgs?: (() => JsonObject) | undefined;
  /** Values in the arguments that are shown nowhere, also when the server repeats them. */
  readonly secrets?: readonly string[] | undefined;
}

export interface CallToolsOptions extends CallToolOptions {
  /** How many at a time. */
  readonly concurrency?: number | undefined;
}

interface OutcomeDetails {
  readonly server: string;
  readonly tool: string;
  readonly requestId: string;
  readonly latencyMs: number;
  readonly attempts: number;
}

/** How a call ended, as a value. */
export type CallOutcome<Output = unknown> =
  | (OutcomeDetails & { readonly ok: true; readonly result: ToolResult<Output> })
  | (OutcomeDetails & { readonly ok: false; readonly error: McpRuntimeError });

/** `callTools` runs this many at a time unless told otherwise. */
export const DEFAULT_CALL_CONCURRENCY = 16;

export function checkConcurrency(server: string, concurrency: number): void {
  if (Number.isInteger(concurrency) && concurrency > 0) return;
  throw new McpRuntimeError(
    "invalid-config",
    `concurrency must be a whole number from 1, found ${String(concurrency)}.`,
    {
      server,
    },
  );
}

export function checkOptions(server: string, options: RequestOptions): void {
  const { timeoutMs, context } = checkObject(options, { subject: "The request", path: "options", server });
  if (context !== undefined) checkObject(context, { subject: "The request", path: "context", server });
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)) return;
  throw new McpRuntimeError(
    "invalid-config",
    `timeoutMs must be a number of milliseconds, found ${String(timeoutMs)}.`,
    { server },
  );
}
