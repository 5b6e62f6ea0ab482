import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toDescription } from "../errors/sanitize-text.js";
import type { ContentBlock } from "./tool-result.js";

/** Which prompt, and what goes into it. */
export interface PromptCall {
  readonly name: string;
  readonly args?: Readonly<Record<string, string>> | undefined;
}

export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly ContentBlock[];
}

/** A prompt with its arguments filled in. */
export interface McpPrompt {
  readonly description?: string | undefined;
  readonly messages: readonly McpPromptMessage[];
  readonly meta?: JsonObject | undefined;
}

interface PromptOrigin {
  readonly server: string;
  readonly name: string;
}

/** Reads the result of `prompts/get`. All or nothing: a prompt without one of its messages says something else. */
export function toPrompt(result: unknown, { server, name }: PromptOrigin): McpPrompt {
  const wrong = (why: string) =>
    new McpRuntimeError(
      "invalid-response",
      `Prompt "${name}" of server "${server}" cannot be used: ${why}.`,
      {
        server,
      },
    );
  if (!isPlainObject(result) || !Array.isArray(result["messages"])) throw wrong("it has no list of messages");
  const { description, _meta: meta } = result;
  return {
    messages: result["messages"].map((message) => toMessage(message, wrong)),
    ...(typeof description === "string" ? { description: toDescription(description) } : {}),
    ...(isPlainObject(meta) ? { meta } : {}),
  };
}

function toMessage(value: unknown, wrong: (why: string) => McpRuntimeError): McpPromptMessage {
  const { role, content } = isPlainObject(value) ? value : {};
  if (role !== "user" && role !== "assistant")
    throw wrong('one of its messages is neither of role "user" nor "assistant"');
  // The protocol has one block; servers that send a text or several mean well.
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : [content].flat();
  if (!blocks.every(isBlock)) throw wrong("one of its messages has no content");
  return { role, content: blocks };
}

function isBlock(value: unknown): value is ContentBlock {
  return isPlainObject(value) && typeof value["type"] === "string";
}
