import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import {
  isSameJson,
  stringifyJson,
  stringifyWithoutBinary,
  isTextBlock,
  textBlock,
  toContent,
  type LangChainBlock,
  toLangChainBlock,
} from "./langchain-block.js";
import { type JsonObject, cloneJson } from "../../json/json.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import type { FailureDetails } from "../../errors/mcp-runtime-error.js";
import { takeStart } from "../../errors/sanitize-text.js";

/** The `artifact` of a ToolMessage: plain JSON that can be saved in a checkpoint. The model does not see it. */
export interface ToolArtifact {
  /** `structuredContent` of the result; `undefined` if it has none. */
  readonly structuredContent: unknown;
  /** `_meta` of the result. */
  readonly meta: JsonObject | undefined;
  /** Whether the tool reported an error or the call failed. */
  readonly isError: boolean;
  /** All blocks as the server sent them, including those that were truncated, replaced or hidden from the model. */
  readonly content: readonly ContentBlock[];
  /** `_meta.ui` of the tool (MCP Apps): `resourceUri` is the page that shows the result. */
  readonly ui?: JsonObject | undefined;
  /** The return value of the option `customData`. */
  readonly customData?: unknown;
  /** Set when the call failed. */
  readonly error?: ToolFailure | undefined;
}

/** An `McpRuntimeError` as plain JSON. */
export interface ToolFailure extends Omit<FailureDetails, "retryAt" | "cause"> {
  /** The kind of the error. */
  readonly kind: FailureKind;
  /** The message of the error, for humans; models see a text that fits the kind. */
  readonly message: string;
  /** When the server allows the next attempt, as an ISO 8601 date. */
  readonly retryAt?: string | undefined;
}

function toToolArtifact({ structuredContent, meta, isError, content }: ToolResult): ToolArtifact {
  return {
    structuredContent: cloneJson(structuredContent),
    meta: cloneJson(meta),
    isError,
    content: content.map((block) => cloneJson(block)),
  };
}

/** How a result is converted to the content of a message. */
export interface ContentOptions {
  /**
   * Where `structuredContent` is shown to the model, as JSON. "fallback": when there is no other content;
   * "prefer": instead of the text blocks, except for errors; "append": after them, unless one of them is the same
   * JSON; "artifact": never. An empty object or array is only shown when there is no other content.
   */
  readonly structuredContent: "fallback" | "prefer" | "append" | "artifact";
  /** Whether the model sees MCP blocks of a type, or they are only in the artifact. */
  readonly outputHandling: {
    readonly image: "content" | "artifact";
    readonly audio: "content" | "artifact";
    /** Embedded resources; a resource link is a line of text and always visible. */
    readonly resource: "content" | "artifact";
  };
  /** The maximum number of characters of text of one result that a model sees. */
  readonly contentChars: number;
  /** Set for tool calls only; a direct invoke returns the whole content. */
  readonly truncate: boolean;
  /** The maximum size of the images, audio and files of one result that a model sees. @default no limit */
  readonly mediaBytes?: number | undefined;
}

/** The output of a LangChain tool. */
export interface ToolContent {
  readonly content: string | LangChainBlock[];
  readonly artifact: ToolArtifact;
  /** The whole content, if its text or the number of its blocks was truncated. */
  readonly whole?: readonly LangChainBlock[];
}

/** Converts a result to a LangChain tool's output. Never throws, whatever the server has sent. */
export function toToolContent(result: ToolResult, options: ContentOptions): ToolContent {
  const visible = toVisibleBlocks(result, options);
  const artifact = toToolArtifact(result);
  if (!options.truncate) return { content: toContent(visible), artifact };
  const { mediaBytes } = options;
  const blocks = mediaBytes === undefined ? visible : describeLargeMedia(visible, mediaBytes);
  const limited = limitBlocks(blocks);
  if (limited === blocks && countTextChars(blocks) <= options.contentChars)
    return { content: toContent([...blocks]), artifact };
  const truncated = truncateTextBlocks(limited, options.contentChars);
  return { content: toContent(truncated), artifact, whole: blocks };
}

/** Each block costs a model dozens of characters besides its text. */
const MAX_BLOCKS = 1_000;

function limitBlocks(blocks: readonly LangChainBlock[]): readonly LangChainBlock[] {
  if (blocks.length <= MAX_BLOCKS) return blocks;
  const omitted = formatCount(blocks.length - MAX_BLOCKS);
  return [
    ...blocks.slice(0, MAX_BLOCKS),
    textBlock(`[… ${omitted} of ${formatCount(blocks.length)} blocks omitted]`),
  ];
}

/** The number of characters in all text blocks together. */
export function countTextChars(blocks: readonly LangChainBlock[]): number {
  return blocks.reduce((sum, block) => sum + (isTextBlock(block) ? block.text.length : 0), 0);
}

/** Replaces the images, audio and files that do not fit with a line of text each. They are in the artifact. */
function describeLargeMedia(blocks: readonly LangChainBlock[], maxBytes: number): LangChainBlock[] {
  let used = 0;
  return blocks.map((block) => {
    if (isTextBlock(block)) return block;
    const bytes = Buffer.byteLength(block.data, "base64");
    if (used + bytes > maxBytes) {
      const size = `${block.mimeType}, ${formatCount(bytes)} bytes`;
      return textBlock(`[${block.type} (${size}) is too large to be shown; the application has it]`);
    }
    used += bytes;
    return block;
  });
}

function toVisibleBlocks(result: ToolResult, options: ContentOptions): LangChainBlock[] {
  const visible = result.content.filter((block) => isVisible(block, options));
  const blocks = toBlocks(visible, options);
  // Anthropic rejects an empty text block among others; a single one is the result.
  const nonBlank = blocks.filter((block) => !isBlank(block));
  const unstructured = nonBlank.length > 0 ? nonBlank : blocks.slice(0, 1);
  const structured = result.structuredContent;
  // Some servers send null for a field without a value.
  if (structured === undefined || structured === null) return unstructured;
  // Adds nothing to the content.
  const isEmpty =
    nonBlank.length > 0 && typeof structured === "object" && Object.keys(structured).length === 0;
  if (isEmpty) return nonBlank;
  switch (options.structuredContent) {
    case "fallback":
      return nonBlank.length > 0 ? nonBlank : [textBlock(stringifyJson(structured))];
    case "prefer": {
      if (result.isError && nonBlank.length > 0) return nonBlank;
      const media = toBlocks(
        visible.filter(({ type }) => type !== "text"),
        options,
      );
      return [textBlock(stringifyJson(structured)), ...media.filter((block) => !isBlank(block))];
    }
    case "append": {
      const json = stringifyJson(structured);
      const isIncluded = nonBlank.some((block) => isTextBlock(block) && isSameJson(block.text, json));
      return isIncluded ? nonBlank : [...nonBlank, textBlock(json)];
    }
    case "artifact":
      return unstructured;
  }
}

function toBlocks(blocks: readonly ContentBlock[], { truncate }: ContentOptions): LangChainBlock[] {
  const stringify = truncate ? stringifyWithoutBinary : stringifyJson;
  return blocks.map((block) => toLangChainBlock(block) ?? textBlock(stringify(block)));
}

function isBlank(block: LangChainBlock): boolean {
  return isTextBlock(block) && block.text.trim() === "";
}

function isVisible({ type }: ContentBlock, { outputHandling }: ContentOptions): boolean {
  if (type !== "image" && type !== "audio" && type !== "resource") return true;
  return outputHandling[type] === "content";
}

/**
 * Keeps the first `maxChars` characters of all text blocks together and appends a marker with the number of
 * omitted characters. Images, audio and files are neither counted nor truncated.
 */
function truncateTextBlocks(blocks: readonly LangChainBlock[], maxChars: number): LangChainBlock[] {
  const total = countTextChars(blocks);
  const result: LangChainBlock[] = [];
  let used = 0;
  let isTruncated = false;
  for (const block of blocks) {
    if (!isTextBlock(block)) {
      result.push(block);
    } else if (!isTruncated && used + block.text.length <= maxChars) {
      used += block.text.length;
      result.push(block);
    } else if (!isTruncated) {
      isTruncated = true;
      const kept = takeStart(block.text, maxChars - used);
      const marker = `[… ${formatCount(total - used - kept.length)} of ${formatCount(total)} characters omitted]`;
      result.push(textBlock(kept === "" ? marker : `${kept}\n${marker}`));
    }
  }
  return result;
}

export function formatCount(characters: number): string {
  return characters.toLocaleString("en-US");
}
