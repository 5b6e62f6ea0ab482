import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { sanitizeText } from "../errors/sanitize-text.js";
import { hasHiddenText } from "../json-schema/keywords.js";
import { isPlainObject, type JsonObject, toObject } from "../json/json.js";
import { optionKeys } from "../config/parse-options.js";
import { findCallProblem, type RequestOptions } from "./call-options.js";
import { IDEMPOTENT_CALL, type RequestDependencies } from "./request-runner.js";
import { type ContentBlock, isContentBlock } from "./tool-result.js";

/** Which prompt to get, with which arguments. */
export interface PromptCall {
  /** The prompt name as the server lists it. */
  readonly name: string;
  /** @default {} */
  readonly args?: Readonly<Record<string, string>> | undefined;
  /** The same as `args`, by its name in the protocol. Pass one of the two. */
  readonly arguments?: Readonly<Record<string, string>> | undefined;
}

/** One message of a prompt. */
export interface McpPromptMessage {
  /** Who speaks. */
  readonly role: "user" | "assistant";
  /** The blocks of the message; a string of the server becomes one text block. */
  readonly content: readonly ContentBlock[];
}

/** A prompt with its arguments filled in. */
export interface McpPrompt {
  /** What the prompt is for, without hidden characters. */
  readonly description?: string | undefined;
  /** The messages in order. */
  readonly messages: readonly McpPromptMessage[];
  /** `_meta` of the result. */
  readonly meta?: JsonObject | undefined;
}

/** What to complete: an argument of a prompt, or a variable of a resource template. */
export type CompletionCall = (
  | {
      /** The name of the prompt. */
      readonly prompt: string;
      /** Not with `prompt`. */
      readonly resourceTemplate?: undefined;
    }
  | {
      /** The URI template of the resource. */
      readonly resourceTemplate: string;
      /** Not with `resourceTemplate`. */
      readonly prompt?: undefined;
    }
) & {
  /** The name of the argument or variable. */
  readonly argument: string;
  /** The text entered so far. */
  readonly value: string;
  /** Values of other arguments or variables that are already known. */
  readonly context?: Readonly<Record<string, string>> | undefined;
};

/** Completions from the server. */
export interface Completion {
  /** The suggestions, best first. */
  readonly values: readonly string[];
  /** The total number of completions, if the server sends it. */
  readonly total?: number | undefined;
  /** There are more than `values`. */
  readonly hasMore: boolean;
}

const PROMPT_CALL_KEYS = optionKeys<PromptCall>({ name: true, args: true, arguments: true });

/** Gets a prompt with its arguments filled in. */
export async function getPrompt(
  { server, runner }: RequestDependencies,
  call: PromptCall,
  options: RequestOptions,
): Promise<McpPrompt> {
  assertPromptCall(server, call);
  const { name, args = call.arguments ?? {} } = call;
  const params = { name, arguments: args };
  return runner.runOperation(options, async (send) => {
    const result = await send("prompts/get", params, { ...IDEMPOTENT_CALL, capability: "prompts" });
    return toPrompt(result, { server, name });
  });
}

/** Returns no values if the server does not support completion. */
export async function complete(
  { server, runner, events }: RequestDependencies,
  call: CompletionCall,
  options: RequestOptions,
): Promise<Completion> {
  const params = toCompletionParams(server, call);
  try {
    // No capability check: servers of the first protocol version complete without announcing it.
    return await runner.runOperation(options, async (send) =>
      toCompletion(await send("completion/complete", params, IDEMPOTENT_CALL), { server, events, call }),
    );
  } catch (error) {
    if (error instanceof McpRuntimeError && error.kind === "not-found") return NO_COMPLETION;
    throw error;
  }
}

function assertPromptCall(server: string, call: PromptCall): void {
  const invalidCall = (message: string) => new McpRuntimeError("invalid-config", message, { server });
  if (typeof call?.name !== "string")
    throw invalidCall("getPrompt requires a prompt name: getPrompt({ name, args }).");
  const problem = findCallProblem(call, PROMPT_CALL_KEYS);
  if (problem !== undefined)
    throw invalidCall(`The request for prompt "${call.name}" is not valid: ${problem}.`);
  const args = call.args ?? call.arguments;
  if (args !== undefined && !isStringRecord(args))
    throw invalidCall(`The arguments of prompt "${call.name}" must be an object of strings.`);
}

function isStringRecord(value: unknown): boolean {
  return isPlainObject(value) && Object.values(value).every((text) => typeof text === "string");
}

/** Parses the result of `prompts/get`. All or nothing: dropping a message would change the meaning of the prompt. */
function toPrompt(result: unknown, { server, name }: { server: string; name: string }): McpPrompt {
  const invalidPrompt = (reason: string) =>
    new McpRuntimeError("invalid-response", `Prompt "${name}" of server "${server}" is invalid: ${reason}.`, {
      server,
    });
  if (!isPlainObject(result) || !Array.isArray(result["messages"]))
    throw invalidPrompt("it has no array of messages");
  const { description, _meta: meta } = result;
  return {
    messages: result["messages"].map((message) => toMessage(message, invalidPrompt)),
    ...(typeof description === "string" ? { description: sanitizeText(description) } : {}),
    ...(isPlainObject(meta) ? { meta } : {}),
  };
}

function toMessage(value: unknown, invalidPrompt: (reason: string) => McpRuntimeError): McpPromptMessage {
  const { role, content } = toObject(value);
  if (role !== "user" && role !== "assistant")
    throw invalidPrompt('the role of a message is neither "user" nor "assistant"');
  // The specification requires one block; a string or an array of blocks is accepted, too.
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : [content].flat();
  if (!blocks.every(isContentBlock)) throw invalidPrompt("a message has no content");
  return { role, content: blocks };
}

const NO_COMPLETION: Completion = { values: [], hasMore: false };

function toCompletionParams(server: string, call: CompletionCall): JsonObject {
  const { prompt, resourceTemplate, argument, value, context } = call ?? {};
  const hasOneTarget = (prompt === undefined) !== (resourceTemplate === undefined);
  const areStrings = isStringRecord({ target: prompt ?? resourceTemplate, argument, value });
  if (!hasOneTarget || !areStrings || !isStringRecord(context ?? {})) {
    const text =
      "complete requires { prompt, argument, value } or { resourceTemplate, argument, value }, all strings.";
    throw new McpRuntimeError("invalid-config", text, { server });
  }
  const ref =
    prompt === undefined
      ? { type: "ref/resource", uri: resourceTemplate }
      : { type: "ref/prompt", name: prompt };
  const known = context === undefined ? {} : { context: { arguments: context } };
  return { ref, argument: { name: argument, value }, ...known };
}

function toCompletion(
  result: unknown,
  {
    server,
    events,
    call,
  }: Pick<RequestDependencies, "server" | "events"> & { readonly call: CompletionCall },
): Completion {
  const { values, total, hasMore } = toObject(toObject(result)["completion"]);
  if (!Array.isArray(values)) {
    const text = `Server "${server}" responded to completion/complete without an array of values.`;
    throw new McpRuntimeError("invalid-response", text, { server });
  }
  const texts = values.filter((value) => typeof value === "string");
  // They are shown to people, and cannot be changed: the server would not know them.
  const hiddenCount = texts.filter(hasHiddenText).length;
  if (hiddenCount > 0)
    events.warn(
      `Server "${server}": completions of "${call.argument}" with hidden characters are left out (${hiddenCount}).`,
    );
  return {
    values: texts.filter((text) => !hasHiddenText(text)),
    hasMore: hasMore === true,
    ...(typeof total === "number" ? { total } : {}),
  };
}
