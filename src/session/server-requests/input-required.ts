import type { CancelScope } from "../../async/cancel-scope.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { TextRedactor } from "../../errors/redaction.js";
import { describeThrown, excerpt } from "../../errors/sanitize-text.js";
import { isLargerThan } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject, toObject } from "../../json/json.js";
import { MAX_SERVER_REQUESTS } from "../../transports/json-rpc.js";
import { isVisible, parseElicitation } from "./elicitation-handler.js";
import { HandlerError } from "./server-request-handler.js";
import type { ServerRequests } from "./server-requests.js";

/** The `resultType` of a result that requires input. */
export const INPUT_REQUIRED = "input_required";

/** The limit for a server that keeps requesting input. */
export const MAX_ROUNDS = 16;

/** What the caller has to answer is saved in checkpoints, with the state of the server. */
const MAX_DEFERRED_CHARS = 1_048_576;

export interface AnswerInputOptions {
  readonly cancellation: CancelScope;
  /** Return elicitation requests to the caller instead of running the handlers. */
  readonly deferInput: boolean;
}

interface InputOptions extends AnswerInputOptions {
  readonly server: string;
  readonly redactor: TextRedactor;
  readonly serverRequests: Pick<ServerRequests, "runHandler" | "toRpcError">;
}

/** The params to repeat the request with, or the incomplete result that the caller has to complete. */
export type InputOutcome = { readonly retryWith: JsonObject } | { readonly deferred: JsonObject };

/** Removes the input of an earlier round. */
export function stripInput(params: JsonObject): JsonObject {
  const { inputResponses: _, requestState: __, ...rest } = params;
  return rest;
}

/** Removes the request for a task. */
export function stripTask(params: JsonObject): JsonObject {
  const { task: _, ...rest } = params;
  return rest;
}

/**
 * Runs the handlers for the input requests in a result. Servers of the modern era keep no state: the
 * request is sent again with the responses and the server's `requestState`.
 */
export async function answerInputRequests(result: JsonObject, options: InputOptions): Promise<InputOutcome> {
  const { requestState } = result;
  const inputRequests = isPlainObject(result["inputRequests"]) ? Object.entries(result["inputRequests"]) : [];
  if (inputRequests.length === 0 && typeof requestState !== "string")
    throw invalidInputError(options.server, "it requires input but has no input requests");
  if (inputRequests.length > MAX_SERVER_REQUESTS)
    throw invalidInputError(options.server, "it has too many input requests");
  const isDeferred = ([, request]: readonly [string, unknown]) =>
    options.deferInput && toObject(request)["method"] === "elicitation/create";
  const deferred = inputRequests.filter(isDeferred);
  const pending = inputRequests.filter((entry) => !isDeferred(entry));
  const responses = await Promise.all(
    pending.map(async ([key, request]) => [key, await answerInputRequest(request, options)]),
  );
  const retryParams = {
    ...(responses.length === 0 ? {} : { inputResponses: Object.fromEntries(responses) as JsonObject }),
    ...(typeof requestState === "string" ? { requestState } : {}),
  };
  if (deferred.length === 0) return { retryWith: retryParams };
  assertDeferrable(deferred, options);
  const inputToProvide = Object.fromEntries(
    deferred.map(([key, request]) => [key, toShown(key, request, options)]),
  );
  const incomplete = { inputRequests: inputToProvide, ...retryParams };
  // An escaped URL is longer.
  assertDeferrable(incomplete, options);
  return { deferred: { resultType: INPUT_REQUIRED, ...incomplete } };
}

function assertDeferrable(value: unknown, { server }: InputOptions): void {
  if (isLargerThan(value, MAX_DEFERRED_CHARS))
    throw invalidInputError(server, `it has more than ${MAX_DEFERRED_CHARS} characters`);
}

/** Returns an elicitation request as a person may see it. */
function toShown(key: string, request: unknown, { server, redactor }: InputOptions): JsonObject {
  if (!isVisible(key)) throw invalidInputError(server, "the key of an input request has hidden characters");
  try {
    const params = parseElicitation(toObject(toObject(request)["params"]));
    return { method: "elicitation/create", params: { ...params } };
  } catch (error) {
    const problem = redactor.sanitize(describeThrown(error));
    throw invalidInputError(server, `an elicitation request is invalid: ${problem}`);
  }
}

async function answerInputRequest(
  request: unknown,
  { server, redactor, serverRequests, cancellation }: InputOptions,
): Promise<JsonObject> {
  if (!isPlainObject(request) || typeof request["method"] !== "string")
    throw invalidInputError(server, "an input request is not a valid request");
  const { method } = request;
  try {
    return await serverRequests.runHandler(method, toObject(request["params"]), cancellation);
  } catch (error) {
    const isDenied = error instanceof McpRuntimeError && error.kind === "denied";
    if (cancellation.isCancelled || isDenied) throw error;
    const { message } = serverRequests.toRpcError(method, error);
    const reason = (error instanceof HandlerError && error.warning) || message;
    const problem = redactor.sanitize(`${excerpt(method)} to continue, but got none: ${reason}`);
    throw new McpRuntimeError("denied", `Server "${server}" requires a response to ${problem}`, { server });
  }
}

function invalidInputError(server: string, problem: string): McpRuntimeError {
  const text = `Server "${server}" returned an invalid result: ${problem}.`;
  return new McpRuntimeError("invalid-response", text, { server });
}
