import type { CancelScope } from "../../async/cancel-scope.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { AnswerError } from "./server-request-handler.js";
import { MOST_OPEN, type ServerRequests } from "./server-requests.js";

/** The type of a result that wants to know something first. */
export const INPUT_REQUIRED = "input_required";

/** Who asks for more than this wants no answers. */
export const MOST_ROUNDS = 16;

interface InputOptions {
  readonly server: string;
  readonly requests: Pick<ServerRequests, "answer" | "toRpcError">;
  readonly cancellation: CancelScope;
  /** Somebody else asks the person. */
  readonly isHeld: boolean;
}

/** What becomes of a request: it is sent again with this in addition, or waits for somebody's answers. */
type NextRound = { readonly again: JsonObject } | { readonly held: JsonObject };

/** A request without what belongs to an earlier round. */
export function withoutInput(params: JsonObject): JsonObject {
  const { inputResponses: _, requestState: __, ...rest } = params;
  return rest;
}

/**
 * A server without sessions asks in its result, and forgets: the request is sent again with the answers
 * and with what the server wants to be reminded of.
 */
export async function answerInput(result: JsonObject, options: InputOptions): Promise<NextRound> {
  const { requestState } = result;
  const asked = isPlainObject(result["inputRequests"]) ? Object.entries(result["inputRequests"]) : [];
  if (asked.length === 0 && typeof requestState !== "string")
    throw unusable(options.server, "it wants something more and does not say what");
  if (asked.length > MOST_OPEN) throw unusable(options.server, "it asks for too much at once");
  const held = options.isHeld ? asked.filter(([, request]) => isForPerson(request)) : [];
  const open = held.length === 0 ? asked : asked.filter((entry) => !held.includes(entry));
  const answers = await Promise.all(
    open.map(async ([key, request]) => [key, await answer(request, options)]),
  );
  const given = {
    ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) as JsonObject }),
    ...(typeof requestState === "string" ? { requestState } : {}),
  };
  if (held.length === 0) return { again: given };
  return { held: { resultType: INPUT_REQUIRED, inputRequests: Object.fromEntries(held), ...given } };
}

function isForPerson(request: unknown): boolean {
  return isPlainObject(request) && request["method"] === "elicitation/create";
}

async function answer(
  request: unknown,
  { server, requests, cancellation }: InputOptions,
): Promise<JsonObject> {
  if (!isPlainObject(request) || typeof request["method"] !== "string")
    throw unusable(server, "it asks for something that is no request");
  const { method } = request;
  try {
    return await requests.answer(
      method,
      isPlainObject(request["params"]) ? request["params"] : {},
      cancellation,
    );
  } catch (error) {
    const isSaid = error instanceof McpRuntimeError && error.kind === "denied";
    if (cancellation.isCancelled || isSaid) throw error;
    const { message } = requests.toRpcError(method, error);
    throw notAnswered(server, method, (error instanceof AnswerError && error.warning) || message);
  }
}

function notAnswered(server: string, method: string, why: string): McpRuntimeError {
  const text = `Server "${server}" needs an answer to ${quoteServer(method)} before it goes on, and got none: ${why}`;
  return new McpRuntimeError("denied", text, { server });
}

function unusable(server: string, why: string): McpRuntimeError {
  const text = `Server "${server}" gave a result that cannot be used: ${why}.`;
  return new McpRuntimeError("invalid-response", text, { server });
}
