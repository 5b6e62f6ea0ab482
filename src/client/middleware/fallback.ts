import { type Clock, raceDeadline } from "../../async/clock.js";
import type { FallbackCall, FallbackClient, FallbackOption } from "../../config/server-definition.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { appendSentence, printValue } from "../../errors/sanitize-text.js";
import { isPlainObject, isPromiseLike, type JsonObject, omitUndefined, toObject } from "../../json/json.js";
import { getCreatedTask } from "../tasks/mcp-task.js";
import { mayHaveRun } from "../policies/failure-policies.js";
import { isContentBlock, ToolResult } from "../tool-result.js";
import { type Middleware, type RequestContext, withRequestDetails } from "../request-context.js";

interface FallbackDependencies {
  readonly server: string;
  readonly clock: Clock;
  readonly events: { warn(message: string): void };
}

/** Failures that must reach the caller: they are never replaced. */
const NO_FALLBACK_KINDS: ReadonlySet<FailureKind> = new Set([
  "closed",
  "invalid-config",
  "cancelled",
  "denied",
]);

/** How long a fallback may take in any case: the failed call may have used up its total timeout. */
const MIN_FALLBACK_MS = 1_000;

/** Lets the `fallback` option provide the result of a failed tool call. */
export function fallback(
  { server, clock, events }: FallbackDependencies,
  option: FallbackOption,
): Middleware {
  const { respond, record } = toResponder(option);
  return (next) => async (request) => {
    const { tool } = request;
    if (tool === undefined) return next(request);
    // Created after the call: arguments that cannot be cloned have failed by then.
    const call = () => toFallbackCall(request, tool, server);
    try {
      const result = await next(request);
      if (isPlainObject(result) && record !== undefined && isComplete(result))
        tryRecord(
          () => record(call(), result),
          (message) => events.warn(message),
        );
      return result;
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || NO_FALLBACK_KINDS.has(error.kind)) throw error;
      const { result, mayHaveRun: reason } = await tryFallback(
        () => respond(withRequestDetails(error, request, server), call()),
        { request, clock, warn: (message) => events.warn(message) },
      );
      if (result !== undefined) return result;
      if (reason === undefined) throw error;
      throw error.with({
        message: appendSentence(error.message, `Its fallback may have run the call: ${reason}.`),
      });
    }
  };
}

/** A tool that has not run yet has no result: the server requires input first, or runs it as a task. */
function isComplete(result: JsonObject): boolean {
  return result["resultType"] !== "input_required" && getCreatedTask(result) === undefined;
}

function toResponder(
  option: FallbackOption,
): Exclude<FallbackOption, FallbackClient | ((...args: never) => unknown)> {
  if (typeof option === "function") return { respond: option };
  if ("respond" in option) return option;
  return { respond: (failure, call) => callOtherClient(option, failure, call) };
}

/** A call that may have run is not run by another server as well. Headers may have secrets of this server. */
async function callOtherClient(
  client: FallbackClient,
  failure: McpRuntimeError,
  { tool: name, args, meta, context, signal, isIdempotent: idempotent }: FallbackCall,
): Promise<object | undefined> {
  if (mayHaveRun(failure) && !idempotent) return undefined;
  return (await client.callTool({ name, args }, { meta, context, signal, idempotent })) as object;
}

function toFallbackCall(
  { params, hasInput, callerMeta, callerContext, headers, identity, isIdempotent, signal }: RequestContext,
  tool: string,
  server: string,
): FallbackCall {
  const args = toObject(params["arguments"]);
  return {
    server,
    tool,
    args: structuredClone(args),
    identity,
    headers,
    meta: isPlainObject(callerMeta) ? structuredClone(callerMeta) : undefined,
    isIdempotent,
    hasInput: hasInput || params["inputResponses"] !== undefined || params["requestState"] !== undefined,
    context: callerContext,
    signal,
  };
}

/** The call has succeeded: a recorder that throws or rejects causes a warning. */
function tryRecord(record: () => unknown, warn: (message: string) => void): void {
  const warnFailed = (error: unknown) => warn(`The fallback could not record a result: ${printValue(error)}`);
  try {
    const returned = record();
    if (isPromiseLike(returned)) void Promise.resolve(returned).catch(warnFailed);
  } catch (error) {
    warnFailed(error);
  }
}

/** A result, or why the fallback may have run the call although it has none. */
interface FallbackOutcome {
  readonly result?: JsonObject | undefined;
  readonly mayHaveRun?: string;
}

interface FallbackAttempt extends Pick<FallbackDependencies, "clock"> {
  readonly request: RequestContext;
  readonly warn: (message: string) => void;
}

/**
 * A failed fallback causes a warning, and the original failure is kept. A promise is waited for until the deadline, and
 * until the caller aborts or the client is closed.
 */
async function tryFallback(
  respond: () => unknown,
  { request, clock, warn }: FallbackAttempt,
): Promise<FallbackOutcome> {
  const { cancellation, deadlineAt } = request;
  const ms = Math.max(MIN_FALLBACK_MS, deadlineAt - clock.now());
  const timeout = new Error(`it did not settle within ${Math.ceil(ms)} ms (timeouts.totalMs)`);
  let isAsync = false;
  try {
    const response = respond();
    isAsync = isPromiseLike(response);
    const returned = isPromiseLike(response)
      ? await raceDeadline({ ms, clock, cancellation, createError: () => timeout }, response)
      : response;
    if (returned === undefined) return {};
    const result = toCallResult(returned);
    if (result !== undefined) return { result };
    warn(
      "The fallback returned an invalid result; the original failure is kept. Return a result of callTool, an object with content or structuredContent, a string, or an array of content blocks.",
    );
    request.mayHaveRun ||= isAsync;
    return isAsync ? { mayHaveRun: "it returned an invalid result" } : {};
  } catch (error) {
    const isCutOff = error === timeout || cancellation.isCancelled;
    // Any other error of an asynchronous fallback may have been thrown after it has run the call.
    const isInDoubt = isCutOff || (error instanceof McpRuntimeError ? mayHaveRun(error) : isAsync);
    request.mayHaveRun ||= isInDoubt;
    cancellation.throwIfCancelled();
    warn(`The fallback failed; the original failure is kept: ${printValue(error)}`);
    if (!isInDoubt) return {};
    if (isCutOff) return { mayHaveRun: timeout.message };
    const wasSent = error instanceof McpRuntimeError;
    return {
      mayHaveRun: wasSent
        ? "it was sent, and its outcome is not known"
        : "it failed with an unexpected error",
    };
  }
}

/** Accepts the result of another tool, content as LangChain has it, and plain results. */
function toCallResult(value: unknown): JsonObject | undefined {
  if (value instanceof ToolResult) return value.toJSON();
  if (typeof value === "string" || Array.isArray(value)) return toContentResult(value);
  if (isPlainObject(value))
    return typeof value["content"] === "string" ? { ...value, ...toContentResult(value["content"]) } : value;
  // A message of LangChain, for example what another tool returned.
  const { content, status, artifact } = Object(value) as Partial<Record<string, unknown>>;
  const result = content === undefined ? undefined : toContentResult(content);
  if (result === undefined) return undefined;
  const structuredContent = isPlainObject(artifact) ? artifact["structuredContent"] : undefined;
  return omitUndefined({ ...result, structuredContent, isError: status === "error" });
}

function toContentResult(content: unknown): JsonObject | undefined {
  const blocks = (Array.isArray(content) ? content : [content]).map((block: unknown) =>
    typeof block === "string" ? { type: "text", text: block } : block,
  );
  return blocks.every(isContentBlock) ? { content: blocks } : undefined;
}
