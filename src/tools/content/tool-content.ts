import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { cutTexts } from "./truncate-text-blocks.js";
import { saysSameJson, toJsonText, toJsonTextWithoutBinary } from "./json-text.js";
import { isTextBlock, textBlock, toContent, type LangChainBlock } from "./langchain-block.js";
import { toLangChainBlock } from "./to-langchain-block.js";
import { toToolArtifact, type ToolArtifact } from "./tool-artifact.js";

export interface ContentOptions {
  /**
   * What the model sees of `structuredContent`, as JSON. "fallback": shown when there is nothing
   * else; "prefer": shown instead of the text blocks; "append": shown after them, unless one of them
   * says the same; "artifact": never shown.
   */
  readonly structuredContent: "fallback" | "prefer" | "append" | "artifact";
  /** What is kept from the model and left to the artifact, by the type of the MCP block. */
  readonly outputHandling: {
    readonly image: "content" | "artifact";
    readonly audio: "content" | "artifact";
    /** Embedded resources; a link to one is a line of text and always shown. */
    readonly resource: "content" | "artifact";
  };
  /** The most characters of text a model is shown of one result. */
  readonly contentChars: number;
  /** Only for tool calls; a direct invoke gets it all. */
  readonly cut: boolean;
}

export const CONTENT_DEFAULTS: ContentOptions = {
  structuredContent: "fallback",
  outputHandling: { image: "content", audio: "content", resource: "content" },
  contentChars: 100_000,
  cut: true,
};

/** A result as LangChain takes it from a tool. A server can send what it likes: this never throws. */
export function toToolContent(
  result: ToolResult,
  options: ContentOptions,
): { content: string | LangChainBlock[]; artifact: ToolArtifact } {
  const blocks = withStructured(result, options);
  const fitting = options.cut ? cutTexts(blocks, options.contentChars) : blocks;
  return { content: toContent(fitting), artifact: toToolArtifact(result) };
}

function withStructured(result: ToolResult, options: ContentOptions): LangChainBlock[] {
  const shown = result.content.filter((block) => isShown(block, options));
  const blocks = toBlocks(shown, options);
  // Among others an empty text says nothing, and Anthropic refuses it; alone it is the answer.
  const speaking = blocks.filter((block) => !isBlank(block));
  const answer = speaking.length > 0 ? speaking : blocks.slice(0, 1);
  const structured = result.structuredContent;
  // Servers that write every field send null for none.
  if (structured === undefined || structured === null) return answer;
  switch (options.structuredContent) {
    case "fallback":
      return speaking.length > 0 ? speaking : [textBlock(toJsonText(structured))];
    case "prefer": {
      const others = toBlocks(
        shown.filter(({ type }) => type !== "text"),
        options,
      );
      return [textBlock(toJsonText(structured)), ...others.filter((block) => !isBlank(block))];
    }
    case "append": {
      const json = toJsonText(structured);
      const isSaid = speaking.some((block) => isTextBlock(block) && saysSameJson(block.text, json));
      return isSaid ? speaking : [...speaking, textBlock(json)];
    }
    case "artifact":
      return answer;
  }
}

function toBlocks(shown: readonly ContentBlock[], { cut }: ContentOptions): LangChainBlock[] {
  const toJson = cut ? toJsonTextWithoutBinary : toJsonText;
  return shown.map((block) => toLangChainBlock(block) ?? textBlock(toJson(block)));
}

function isBlank(block: LangChainBlock): boolean {
  return isTextBlock(block) && block.text.trim() === "";
}

function isShown({ type }: ContentBlock, { outputHandling }: ContentOptions): boolean {
  if (type !== "image" && type !== "audio" && type !== "resource") return true;
  return outputHandling[type] === "content";
}
