import type { ToolResult } from "../client/tool-result.js";
import type { ToolArtifact, ToolFailure } from "./content/tool-content.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { type FailureDetails, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import { printValue } from "../errors/sanitize-text.js";
import { MAX_MESSAGE_LENGTH, Redactor } from "../errors/redaction.js";
import { collectUrlForms } from "../config/collect-secrets.js";
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
  const serverText = caller.redactor.excerpt(result.text());
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
  const { runtime, context, hasBegunSending } = run;
  const { signal } = context;
  if (isGraphBubbleUp(error)) throw error;
  if (error instanceof McpRuntimeError) {
    const failure = redactInjected(error, run);
    if (ALWAYS_THROWN.has(failure.kind) && !run.isRejected) throw failure;
    return failure;
  }
  if (signal?.aborted === true) {
    const cause: unknown = signal.reason;
    // Only the timeout of a signal is reported to the model; any other abort reason is rethrown.
    if (!(cause instanceof Error && cause.name === "TimeoutError")) throw cause;
    const text = `Tool "${runtime.schema.info.name}" exceeded the timeout of its caller.`;
    // The tool has run already if the signal ends `afterToolCall`.
    const attempts = hasBegunSending ? 1 : 0;
    return callError(runtime, "timeout", text, { cause, attempts, outcomeUnknown: hasBegunSending });
  }
  const redactor = createRedactor(run);
  if (hasBegunSending) return unexpectedError(run, error, redactor);
  // Anything else was thrown by a hook or a rule's function. Its message is for its author, not for a model.
  const text = `A hook or rule function failed before the call: ${printValue(error)}`;
  runtime.warn(redactor?.sanitize(text) ?? text);
  return deniedError(
    runtime,
    "a check before the call failed.",
    redactor ? redactor.redactCause(error) : error,
  );
}

/** The server may have run the call, so the model must not read that it was denied. */
function unexpectedError({ runtime }: ToolRun, error: unknown, redactor?: Redactor): McpRuntimeError {
  const text = `The call to tool "${runtime.schema.info.name}" failed unexpectedly after it was sent: ${printValue(error)}`;
  const message = redactor?.sanitize(text) ?? text;
  runtime.warn(message);
  const cause = redactor ? redactor.redactCause(error) : error;
  return callError(runtime, "invalid-response", message, { outcomeUnknown: true, attempts: 1, cause });
}

/** Redacts injected values: before the call is sent, the redactor of its server does not know them. */
function createRedactor({ secrets }: ToolRun): Redactor | undefined {
  return secrets === undefined ? undefined : new Redactor(secrets.flatMap(collectUrlForms));
}

/** A hook may quote the injected arguments that it has received, for example in the reason of a denial. */
function redactInjected(error: McpRuntimeError, run: ToolRun): McpRuntimeError {
  const redactor = createRedactor(run);
  if (redactor === undefined) return error;
  const texts = [error.message, ...error.issues.flatMap(({ path, message }) => [path, message])];
  const cause = redactor.redactCause(error.cause);
  if (cause === error.cause && !texts.some((text) => redactor.containsSecret(text))) return error;
  const message = redactor.sanitize(error.message, MAX_MESSAGE_LENGTH);
  const issues = error.issues.map((issue) => ({
    path: redactor.sanitize(issue.path),
    message: redactor.sanitize(issue.message),
  }));
  return error.with({ message, issues, cause });
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

const NOT_RUN = " The tool was not run.";
const TRY_OTHERWISE = "Try another way, or tell the user.";
const TRY_LATER = "Try again later, or continue without it and say so.";
const NOT_AGAIN = "Do not call it again unless you are asked to.";
const REPORT_TO_USER = "Calling it again will not help. Tell the user.";

/**
 * What happened, for a model to read, and what it can do next. Kinds that are always thrown have no entry: no model reads
 * them. Only the cancellation of a task is not thrown.
 */
const FAILURE_TEXTS: Partial<Record<FailureKind, readonly [summary: string, hint: string]>> = {
  "session-lost": [`The server keeps losing the session.${NOT_RUN}`, TRY_LATER],
  "not-sent": [`The server cannot be reached.${NOT_RUN}`, TRY_LATER],
  "connection-lost": ["The connection was lost before the response arrived.", TRY_LATER],
  timeout: ["The tool did not respond in time.", TRY_LATER],
  "rate-limited": [`The server rejected the call: too many requests.${NOT_RUN}`, TRY_LATER],
  unavailable: ["The server is not available.", TRY_LATER],
  "server-error": ["The server failed.", TRY_OTHERWISE],
  unauthorized: ["The credentials for this call are missing, or the server rejected them.", REPORT_TO_USER],
  "not-found": ["The server does not have this tool.", REPORT_TO_USER],
  "invalid-request": ["The server rejected the request.", REPORT_TO_USER],
  "invalid-response": ["The response cannot be used.", TRY_OTHERWISE],
  "too-large": ["The response is too large.", "Ask for less."],
  "unsupported-protocol": ["The server uses an unsupported protocol version.", REPORT_TO_USER],
  "circuit-open": [`The server failed repeatedly and is not called for a while.${NOT_RUN}`, TRY_LATER],
  denied: ["The call was denied.", NOT_AGAIN],
  cancelled: ["Its task was cancelled.", NOT_AGAIN],
};

const MAY_HAVE_RUN = "The tool may have run: check before you call it again.";

/**
 * Describes a failure to a model: what happened, whether the tool may have run, what to do next. The error's own
 * message is included only where it is safe: our messages about arguments and denials, and the message of a
 * JSON-RPC error. Other messages may contain hosts and paths.
 */
export function toFailureMessage(error: McpRuntimeError, toolName: string): string {
  const [text, hint] = FAILURE_TEXTS[error.kind] ?? ["It failed.", TRY_OTHERWISE];
  // An earlier attempt or a fallback may have run the tool, although the last attempt has not.
  const summary = error.outcomeUnknown ? text.replace(NOT_RUN, "") : text;
  // The tool ran, but its result cannot be used: the message was written by this package.
  const isOwnMessage = error.kind === "invalid-response" && !error.outcomeUnknown;
  const isSafe =
    error.issues.length > 0 || error.code !== undefined || error.kind === "denied" || isOwnMessage;
  const isCorrectable =
    error.kind === "invalid-request" && (error.issues.length > 0 || error.code === RPC_CODES.invalidParams);
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
