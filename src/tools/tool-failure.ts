import type { ToolResult } from "../client/tool-result.js";
import type { ToolArtifact, ToolFailure } from "./content/tool-content.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { type FailureDetails, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt, printValue } from "../errors/sanitize-text.js";
import type { ToolRun, ToolRuntime } from "./tool-run.js";

/** Only the application can act on these, so they are thrown even when a model made the call. */
export const ALWAYS_THROWN: ReadonlySet<FailureKind> = new Set(["closed", "invalid-config", "cancelled"]);

/** Creates an error of a call to this tool. */
export function callError(
  { schema: { info }, server }: ToolRuntime,
  kind: FailureKind,
  text: string,
  details?: FailureDetails,
): McpRuntimeError {
  return new McpRuntimeError(kind, text, { ...details, server, tool: info.name });
}

/** The tool ran and returned an error result. */
export function toolError(runtime: ToolRuntime, result: ToolResult): McpRuntimeError {
  const { schema, server, caller } = runtime;
  const serverText = excerpt(caller.redact(result.text()));
  const text = `Tool "${schema.info.name}" of server "${server}" reported an error: ${serverText}`;
  return callError(runtime, "tool-error", text, { attempts: 1 });
}

/** The call was denied by a rule, a hook or a reviewer. */
export function deniedError(runtime: ToolRuntime, reason: string, cause?: unknown): McpRuntimeError {
  const text = `The call to tool "${runtime.schema.info.name}" was denied: ${reason}`;
  return callError(runtime, "denied", text, { cause });
}

/**
 * Returns the failure if it may be reported to a model. Throws everything else: the caller's own cancellation,
 * LangGraph's interrupts and commands, and failures that only the application can act on.
 */
export function toModelFailure(error: unknown, run: ToolRun): McpRuntimeError {
  const { runtime, context } = run;
  const { signal } = context;
  if (isGraphBubbleUp(error)) throw error;
  if (error instanceof McpRuntimeError) {
    if (ALWAYS_THROWN.has(error.kind) && !run.isRejected) throw error;
    return error;
  }
  if (signal?.aborted === true) {
    const cause: unknown = signal.reason;
    // Only the timeout of a signal is reported to the model; any other abort reason is rethrown.
    if (!(cause instanceof Error && cause.name === "TimeoutError")) throw cause;
    const text = `Tool "${runtime.schema.info.name}" exceeded the timeout of its caller.`;
    return callError(runtime, "timeout", text, { cause });
  }
  // Anything else was thrown by a hook or a rule's function. Its message is for its author, not for a model.
  runtime.warn(`A hook or rule function failed before the call: ${printValue(error)}`);
  return deniedError(runtime, "a check before the call failed.", error);
}

/** Whether LangGraph has to receive this error: an interrupt, or a command to a parent graph. */
export function isGraphBubbleUp(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "is_bubble_up") === true;
}

export function toToolFailure(error: McpRuntimeError): ToolFailure {
  const { name: _, ...json } = error.toJSON();
  return { ...json, retryAt: error.retryAt?.toISOString() } as ToolFailure;
}

/** The artifact of a call without a result. */
export const EMPTY_ARTIFACT: ToolArtifact = {
  structuredContent: undefined,
  meta: undefined,
  isError: true,
  content: [],
};

interface FailureText {
  /** What happened, for a model to read. */
  readonly summary: string;
  /** What the model can do next. */
  readonly hint: string;
}

const TRY_OTHERWISE = "Try another way, or tell the user.";
const TRY_LATER = "Try again later, or continue without it and say so.";
const NOT_AGAIN = "Do not call it again unless you are asked to.";
const REPORT_TO_USER = "Calling it again will not help. Tell the user.";

/** Kinds that are always thrown have no entry: no model reads them. Only the cancellation of a task is not thrown. */
const FAILURE_TEXTS: Partial<Record<FailureKind, FailureText>> = {
  "session-lost": {
    summary: "The server keeps losing the session. The tool was not run.",
    hint: TRY_LATER,
  },
  "not-sent": { summary: "The server cannot be reached. The tool was not run.", hint: TRY_LATER },
  "connection-lost": { summary: "The connection was lost before the response arrived.", hint: TRY_LATER },
  timeout: { summary: "The tool did not respond in time.", hint: TRY_LATER },
  "rate-limited": {
    summary: "The server rejected the call: too many requests. The tool was not run.",
    hint: TRY_LATER,
  },
  unavailable: { summary: "The server is not available.", hint: TRY_LATER },
  "server-error": { summary: "The server failed.", hint: TRY_OTHERWISE },
  unauthorized: {
    summary: "The credentials for this call are missing, or the server rejected them.",
    hint: REPORT_TO_USER,
  },
  "not-found": { summary: "The server does not have this tool.", hint: REPORT_TO_USER },
  "invalid-request": { summary: "The server rejected the request.", hint: REPORT_TO_USER },
  "invalid-response": { summary: "The response cannot be used.", hint: TRY_OTHERWISE },
  "too-large": { summary: "The response is too large.", hint: "Ask for less." },
  "unsupported-protocol": {
    summary: "The server uses an unsupported protocol version.",
    hint: REPORT_TO_USER,
  },
  "circuit-open": {
    summary: "The server failed repeatedly and is not called for a while. The tool was not run.",
    hint: TRY_LATER,
  },
  denied: { summary: "The call was denied.", hint: NOT_AGAIN },
  cancelled: { summary: "Its task was cancelled.", hint: NOT_AGAIN },
};

const INVALID_PARAMS = -32_602;
const MAY_HAVE_RUN = "The tool may have run: check before you call it again.";

/**
 * Describes a failure to a model: what happened, whether the tool may have run, what to do next. The error's own
 * message is included only where it is safe: our messages about arguments and denials, and the message of a
 * JSON-RPC error. Other messages may contain hosts and paths.
 */
export function toFailureMessage(error: McpRuntimeError, toolName: string): string {
  const { summary, hint } = FAILURE_TEXTS[error.kind] ?? {
    summary: "It failed.",
    hint: TRY_OTHERWISE,
  };
  const isSafe =
    error.issues.length > 0 || error.code !== undefined || error.kind === "denied" || toolRan(error);
  const isCorrectable =
    error.kind === "invalid-request" && (error.issues.length > 0 || error.code === INVALID_PARAMS);
  const next = isCorrectable ? "Correct the arguments and call the tool again." : hint;
  const lines = [
    `Tool "${toolName}" failed: ${isSafe ? error.message : summary}`,
    ...describeRetryAt(error),
    ...(error.outcomeUnknown ? [MAY_HAVE_RUN] : []),
  ];
  return [...lines, ...(error.outcomeUnknown && next === TRY_LATER ? [] : [next])].join("\n");
}

/** Only the time of a rate limit comes from the server. */
function describeRetryAt({ kind, retryAt }: McpRuntimeError): string[] {
  if (retryAt === undefined) return [];
  const subject = kind === "rate-limited" ? "The server asks to wait" : "No call is sent to the server";
  return [`${subject} until ${retryAt.toISOString()}.`];
}

/** The tool ran, but its result cannot be used: the message was written by this package. */
function toolRan({ kind, outcomeUnknown }: McpRuntimeError): boolean {
  return kind === "invalid-response" && !outcomeUnknown;
}
