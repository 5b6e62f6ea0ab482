import type { CallInput } from "../../client/call-options.js";
import type { InputRequired, ToolResult } from "../../client/tool-result.js";
import type { ToolContext } from "../tool-context.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { FormElicitation, UrlElicitation } from "../../config/server-request-handlers.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { answerElicitation, parseElicitation } from "../../session/server-requests/elicitation-handler.js";
import { AnswerError } from "../../session/server-requests/server-request-handler.js";
import { GraphTask } from "../graph-task.js";
import { pendingCalls } from "../pending-calls.js";
import { lastApproval } from "../approval/previous-approval.js";

/** What a graph pauses with when a server wants to know something from a person before it runs a tool. */
export interface InputRequest {
  readonly type: "mcp_input";
  readonly server: string;
  /** The tool's name, as models see it. */
  readonly tool: string;
  readonly toolCallId: string;
  /** What is asked, by the server's own keys. */
  readonly requests: Readonly<Record<string, FormElicitation | UrlElicitation>>;
  /** What was wrong with the last answer. */
  readonly problem?: string;
}

/** The answer to it: for each call by its id, for each request by its key. */
export interface InputResponse {
  readonly answers: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** What goes into the checkpoint with the question, for whoever goes on. */
export interface PausedCall extends InputRequest {
  readonly round: number;
  readonly required: InputRequired;
  /** An approval that the same task has asked for before. */
  readonly approval?: unknown;
}

/** A call for which somebody else asks: what to send, and what the server wants to know. */
export interface HeldCall {
  readonly input: CallInput;
  required: InputRequired | undefined;
}

interface Asking {
  readonly server: string;
  readonly tool: string;
  readonly context: ToolContext;
  readonly held: HeldCall | undefined;
}

/** More wrong answers than any person gives: something answers by itself. */
const MOST_ROUNDS = 1_000;
const UNASKED: { readonly input: CallInput; readonly round: number } = { input: {}, round: 0 };

/**
 * Calls a tool whose server may want to know something first, and pauses the graph for it. The task
 * runs again from its start when the graph goes on, perhaps in another process: the call is then sent
 * with the answers at once, and what was sent before is not sent again.
 */
export function callAskingInGraph(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  asking: Asking,
): Promise<ToolResult> {
  if (asking.held !== undefined) return callHeld(call, asking.held);
  const task = new GraphTask(asking.context.runConfig);
  return canAsk(task, asking.context) ? callUntilAnswered(call, asking, task) : call(undefined);
}

async function callUntilAnswered(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  asking: Asking,
  task: GraphTask,
): Promise<ToolResult> {
  const last = task.isResumed ? await task.lastQuestion() : undefined;
  let paused = isPausedCall(last, asking) ? last : undefined;
  // Every question counts when the task runs again: those before the last one have been dealt with.
  for (let round = 1; round < (paused?.round ?? 0); round += 1) task.interrupt?.(paused);
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    const { input, round } = paused === undefined ? UNASKED : await askForInput(paused, task);
    const result = await call(input);
    if (result.inputRequired === undefined) return result;
    const { server, tool, context } = asking;
    const about = { server, tool, toolCallId: context.toolCallId ?? "", round: round + 1 };
    paused = toPaused(result.inputRequired, about, last);
  }
  throw nobody(asking.server);
}

async function callHeld(
  call: (input: CallInput | undefined) => Promise<ToolResult>,
  held: HeldCall,
): Promise<ToolResult> {
  const result = await call(held.input);
  held.required = result.inputRequired;
  return result;
}

/** Pauses until somebody gives an answer that fits. */
async function askForInput(paused: PausedCall, task: GraphTask): Promise<typeof UNASKED> {
  let question: PausedCall = paused;
  for (let round = paused.round; round < MOST_ROUNDS; round += 1) {
    const answered = await answersTo(paused, task.interrupt?.(question));
    if (!("problem" in answered))
      return { input: { responses: answered.responses, state: paused.required.state }, round };
    question = { ...paused, problem: answered.problem, round: round + 1 };
  }
  throw nobody(paused.server);
}

function nobody(server: string): McpRuntimeError {
  return new McpRuntimeError("denied", "Nobody gave an answer that fits.", { server });
}

/** Asking is safe where the task makes no other call: all that it makes, it makes again. */
function canAsk(task: GraphTask, { toolCallId }: ToolContext): boolean {
  if (toolCallId === undefined || task.interrupt === undefined) return false;
  const single: unknown = Reflect.get(Object(task.input), "lg_tool_call");
  if (isPlainObject(single)) return single["id"] === toolCallId;
  const { allCalls } = pendingCalls(task.input);
  return allCalls.length === 1 && allCalls[0]?.id === toolCallId;
}

function isPausedCall(question: unknown, { context }: Asking): question is PausedCall {
  if (!isPlainObject(question) || question["type"] !== "mcp_input") return false;
  return question["toolCallId"] === context.toolCallId;
}

/** `last`: what the task has asked before. */
export function toPaused(
  required: InputRequired,
  { server, tool, toolCallId, round }: Pick<PausedCall, "server" | "tool" | "toolCallId" | "round">,
  last: unknown,
): PausedCall {
  const requests = Object.entries(required.requests).map(([key, request]) => [
    key,
    toRequest(request, server),
  ]);
  const approval = lastApproval(last);
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
    const text = `Server "${server}" asks for something that cannot be shown: ${String(error)}`;
    throw new McpRuntimeError("invalid-response", text, { server });
  }
}

type Answered = { readonly responses: JsonObject } | { readonly problem: string };

/** What a person said, checked as a handler's answer is. One question may be answered without its keys. */
export async function answersTo(
  { requests, required, toolCallId }: PausedCall,
  said: unknown,
): Promise<Answered> {
  const keys = Object.keys(requests);
  const byCall =
    isPlainObject(said) && isPlainObject(said["answers"]) ? said["answers"][toolCallId] : undefined;
  const isShort = isPlainObject(said) && typeof said["action"] === "string" && keys.length === 1;
  const given: unknown = isShort ? { [keys[0] ?? ""]: said } : byCall;
  if (!isPlainObject(given)) return { problem: `The answer has none for call "${toolCallId}".` };
  const responses: JsonObject = { ...required.responses };
  for (const key of keys) {
    const answer = await checked(required.requests[key] ?? {}, given[key]);
    if ("problem" in answer) return { problem: `${key}: ${answer.problem}` };
    responses[key] = answer.response;
  }
  return { responses };
}

async function checked(
  { params }: JsonObject,
  given: unknown,
): Promise<{ readonly response: JsonObject } | { readonly problem: string }> {
  const give = () => given as never;
  const answerer = answerElicitation({ elicitForm: give, elicitUrl: give });
  const context = { server: "", signal: new AbortController().signal };
  try {
    return { response: await answerer(isPlainObject(params) ? params : {})(context) };
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    return {
      problem: (error.warning ?? error.message).replace(/^onElicitationRequest gave an answer that/, "It"),
    };
  }
}
