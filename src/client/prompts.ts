import type { McpPromptInfo } from "../config/resource-info.js";
import { isPlainObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { RequestOptions } from "./call-options.js";
import {
  type Completion,
  type CompletionCall,
  NO_COMPLETION,
  toCompletion,
  toCompletionParams,
} from "./completion.js";
import { LIST_KINDS } from "./list-kinds.js";
import { type McpPrompt, type PromptCall, toPrompt } from "./prompt.js";
import type { Requester } from "./request-runner.js";
import type { ServerLists } from "./lists.js";

interface ServerPromptsParts {
  readonly server: string;
  readonly requester: Requester;
  readonly lists: ServerLists;
}

/** Not discovery: it is done for whoever asks, and as that user. */
const USE = { isIdempotent: true, purpose: "call" } as const;

/** The prompts of one server, and what it proposes for their arguments. */
export class ServerPrompts {
  readonly #parts: ServerPromptsParts;

  constructor(parts: ServerPromptsParts) {
    this.#parts = parts;
  }

  list(options: RequestOptions): Promise<McpPromptInfo[]> {
    return this.#parts.lists.ifAny(LIST_KINDS.prompts, options);
  }

  async get(call: PromptCall, options: RequestOptions): Promise<McpPrompt> {
    const { server, requester } = this.#parts;
    const { name, args = {} } = this.#checked(call);
    const result = await requester.operation(options, (send) =>
      send("prompts/get", { name, arguments: args }, { ...USE, capability: "prompts" }),
    );
    return toPrompt(result, { server, name });
  }

  /** A server that completes nothing has no values: one can do without. */
  async complete(call: CompletionCall, options: RequestOptions): Promise<Completion> {
    const { server, requester } = this.#parts;
    const params = this.#paramsOf(call);
    try {
      // Servers of the first protocol version complete without announcing it: they are asked.
      const result = await requester.operation(options, (send) => send("completion/complete", params, USE));
      return toCompletion(result, server);
    } catch (error) {
      if (error instanceof McpRuntimeError && error.kind === "not-found") return NO_COMPLETION;
      throw error;
    }
  }

  /** A caller in plain JavaScript can pass anything. */
  #checked(call: PromptCall): PromptCall {
    if (typeof call?.name !== "string")
      throw this.#wrong("getPrompt needs the name of a prompt: getPrompt({ name, args }).");
    if (call.args !== undefined && !areTexts(call.args))
      throw this.#wrong(`The arguments of prompt "${call.name}" must be an object of texts.`);
    return call;
  }

  #paramsOf(call: CompletionCall) {
    const { prompt, resourceTemplate, argument, value, given = {} } = call ?? {};
    const isOne = (prompt === undefined) !== (resourceTemplate === undefined);
    if (!isOne || !areTexts({ of: prompt ?? resourceTemplate, argument, value }) || !areTexts(given))
      throw this.#wrong(
        "complete needs { prompt, argument, value } or { resourceTemplate, argument, value }, all of them texts.",
      );
    return toCompletionParams(call);
  }

  #wrong(message: string): McpRuntimeError {
    return new McpRuntimeError("invalid-config", message, { server: this.#parts.server });
  }
}

function areTexts(value: unknown): boolean {
  return isPlainObject(value) && Object.values(value).every((text) => typeof text === "string");
}
