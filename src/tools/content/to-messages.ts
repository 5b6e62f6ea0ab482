import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { McpPrompt, McpPromptMessage } from "../../client/prompt.js";
import { toJsonTextWithoutBinary } from "./json-text.js";
import { type LangChainBlock, textBlock, toContent } from "./langchain-block.js";
import { toLangChainBlock } from "./to-langchain-block.js";

/** A prompt as LangChain's messages, ready for a model. */
export function toMessages({ messages }: McpPrompt): BaseMessage[] {
  return messages.map((message) => {
    const content = contentOf(message);
    return message.role === "user" ? new HumanMessage({ content }) : new AIMessage({ content });
  });
}

function contentOf({ content }: McpPromptMessage): string | LangChainBlock[] {
  return toContent(
    content.map((block) => toLangChainBlock(block) ?? textBlock(toJsonTextWithoutBinary(block))),
  );
}
