import type { CallInput } from "../../client/call-options.js";
import type { InputRequired, ToolResult } from "../../client/tool-result.js";
import type { ToolContext } from "../tool-context.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { FormElicitation, UrlElicitation } from "../../config/server-request-handlers.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  createElicitationHandler,
  parseElicitation,
} from "../../session/server-requests/elicitation-handler.js";
import { HandlerError } from "../../session/server-requests/server-request-handler.js";
import { GraphTask, findPendingCalls } from "../graph-task.js";
import { previousApproval } from "../approval/approval-request.js";

/** The value of a LangGraph interrupt when a server needs input from a person before it runs a tool. */
export interface InputRequest {
  readonly type: "mcp_input";
  /** The name of the server. */
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  readonly toolCallId: string;
  /** The elicitation requests, by the server's keys. */
  readonly requests: Readonly<Record<string, FormElicitation | UrlElicitation>>;
  /** What was wrong with the previous answer. */
  readonly error?: string;
}

/**
 * The value to resume the graph with: an elicitation result for each request, by tool call id and by the
 * request's key. A single request may be answered with `{ action, content }` alone.
 *
 * @example
 * ```ts
 * const resume: InputResponse = {
 *   answers: { [toolCallId]: { where: { action: "accept", content: { city: "Rome" } } } },
 * };
 * await agent.invoke(new Command({ resume }), config);
 * ```
 */
export interface InputResponse {
  readonly answers: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** The interrupt as it is saved in the checkpoint, with what is needed to resume the call. */
export interface InterruptedCall extends InputRequest {
  readonly round: number;
  readonly required: InputRequired;
  /** The approval request that the same task has made before. */
  readonly approval?: unknown;
}

/** A call whose input is requested by the tool node: the input to send, and what the server needs next. */
export interface DeferredCall {
  readonly input: CallInput;
  required: InputRequired | undefined;
}

interface InputContext {
  readonly server: string;
  readonly tool: string;
  readonly context: ToolContext;
  readonly deferred: DeferredCall | undefined;
}

/** A person does not give this many invalid answers: a program answers in a loop. */
const MAX_ROUNDS = 1_000;
const NO_INPUT: { readonly input: CallInput; readonly round: number } = { input: {}, round: 0 };

/**
 * Calls a tool and interrupts the graph when its server needs input. The resumed task runs again from its start,
 * possibly in another process: it then sends the call with the answers, without repeating earlier rounds.
 */
export function callWithInput(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  inputContext: InputContext,
): Promise<ToolResult> {
  if (inputContext.deferred !== undefined) return callDeferred(call, inputContext.deferred);
  const task = new GraphTask(inputContext.context.runConfig);
  return canInterrupt(task, inputContext.context)
    ? callUntilComplete(call, inputContext, task)
    : call(undefined);
}

async function callUntilComplete(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  inputContext: InputContext,
  task: GraphTask,
): Promise<ToolResult> {
  const lastQuestion = task.isResumed ? await task.lastQuestion() : undefined;
  let interrupted = isInterruptedCall(lastQuestion, inputContext) ? lastQuestion : undefined;
  // LangGraph matches answers to interrupts by their order, so the earlier interrupts are repeated.
  for (let round = 1; round < (interrupted?.round ?? 0); round += 1) task.interrupt?.(interrupted);
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    const { input, round } = interrupted === undefined ? NO_INPUT : await requestInput(interrupted, task);
    const result = await call(input);
    if (result.inputRequired === undefined) return result;
    const { server, tool, context } = inputContext;
    const source = { server, tool, toolCallId: context.toolCallId ?? "", round: round + 1 };
    interrupted = toInterrupt(result.inputRequired, source, lastQuestion);
  }
  throw noValidAnswerError(inputContext.server);
}

async function callDeferred(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  deferred: DeferredCall,
): Promise<ToolResult> {
  const result = await call(deferred.input);
  deferred.required = result.inputRequired;
  return result;
}

/** Interrupts until a valid answer is received. */
async function requestInput(interrupted: InterruptedCall, task: GraphTask): Promise<typeof NO_INPUT> {
  let question: InterruptedCall = interrupted;
  for (let round = interrupted.round; round < MAX_ROUNDS; round += 1) {
    const answer = await readAnswers(interrupted, task.interrupt?.(question));
    if (!("error" in answer)) {
      const { requestState } = interrupted.required;
      return { input: { responses: answer.responses, requestState }, round };
    }
    question = { ...interrupted, error: answer.error, round: round + 1 };
  }
  throw noValidAnswerError(interrupted.server);
}

function noValidAnswerError(server: string): McpRuntimeError {
  return new McpRuntimeError("denied", "No valid answer was received.", { server });
}

/** An interrupt is safe only if the task makes no other call: a resumed task repeats all its calls. */
function canInterrupt(task: GraphTask, { toolCallId }: ToolContext): boolean {
  if (toolCallId === undefined || task.interrupt === undefined) return false;
  const singleCall: unknown = Reflect.get(Object(task.input), "lg_tool_call");
  if (isPlainObject(singleCall)) return singleCall["id"] === toolCallId;
  const { allCalls } = findPendingCalls(task.input);
  return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
}

function isInterruptedCall(question: unknown, { context }: InputContext): question is InterruptedCall {
  if (!isPlainObject(question) || question["type"] !== "mcp_input") return false;
  return question["toolCallId"] === context.toolCallId;
}

/** `lastQuestion` is the value of the task's last interrupt, whose approval request is kept. */
export function toInterrupt(
  required: InputRequired,
  { server, tool, toolCallId, round }: Pick<InterruptedCall, "server" | "tool" | "toolCallId" | "round">,
  lastQuestion: unknown,
): InterruptedCall {
  const requests = Object.entries(required.requests).map(([key, request]) => [
    key,
    toRequest(request, server),
  ]);
  const approval = previousApproval(lastQuestion);
  return {
    type: "mcp_input",
    server,
    tool,
    toolCallId,
    requests: Object.fromEntries(requests) as InputRequest["requests"],
    round,
    required,
    ...(approval === undefined ? {} : { approval }),
  };
}

function toRequest({ params }: JsonObject, server: string): FormElicitation | UrlElicitation {
  try {
    return parseElicitation(isPlainObject(params) ? params : {});
  } catch (error) {
    const text = `Server "${server}" sent an invalid elicitation request: ${String(error)}`;
    throw new McpRuntimeError("invalid-response", text, { server });
  }
}

type AnswerResult = { readonly responses: JsonObject } | { readonly error: string };

/** Validates answers like the result of an `onElicitationRequest` handler. */
export async function readAnswers(
  { requests, required, toolCallId }: InterruptedCall,
  answer: unknown,
): Promise<AnswerResult> {
  const keys = Object.keys(requests);
  const byCall =
    isPlainObject(answer) && isPlainObject(answer["answers"]) ? answer["answers"][toolCallId] : undefined;
  const isShortForm = isPlainObject(answer) && typeof answer["action"] === "string" && keys.length === 1;
  const byKey: unknown = isShortForm ? { [keys[0] ?? ""]: answer } : byCall;
  if (!isPlainObject(byKey)) return { error: `The answer has no entry for call "${toolCallId}".` };
  const responses: JsonObject = { ...required.responses };
  for (const key of keys) {
    const result = await validateAnswer(required.requests[key] ?? {}, byKey[key]);
    if ("error" in result) return { error: `${key}: ${result.error}` };
    responses[key] = result.response;
  }
  return { responses };
}

async function validateAnswer(
  { params }: JsonObject,
  answer: unknown,
): Promise<{ readonly response: JsonObject } | { readonly error: string }> {
  const elicit = () => answer as never;
  const handle = createElicitationHandler({ elicitForm: elicit, elicitUrl: elicit });
  const context = { server: "", signal: new AbortController().signal };
  try {
    return { response: await handle(isPlainObject(params) ? params : {})(context) };
  } catch (error) {
    if (!(error instanceof HandlerError)) throw error;
    return {
      error: (error.warning ?? error.message).replace(
        /^onElicitationRequest returned an invalid result/,
        "The answer is invalid",
      ),
    };
  }
}
