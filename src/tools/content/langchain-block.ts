/**
 * The standard content blocks of LangChain v1 that a tool gives (`ContentBlock` of
 * `@langchain/core/messages`), in the form every provider's converter takes. A text block has these
 * two fields and no more: ChatOpenAI sends it as it is, and OpenAI refuses fields it does not know.
 */
export type LangChainBlock = TextBlock | DataBlock;

export type TextBlock = { type: "text"; text: string };

export type DataBlock = {
  type: "image" | "audio" | "file";
  mimeType: string;
  /** Base64, checked. */
  data: string;
  metadata?: { uri: string; filename: string };
};

export function isTextBlock(block: LangChainBlock): block is TextBlock {
  return block.type === "text";
}

export function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

/** Blocks as a message carries them: one text is a string. */
export function toContent(blocks: LangChainBlock[]): string | LangChainBlock[] {
  const [first, second] = blocks;
  if (first === undefined) return "";
  return second === undefined && isTextBlock(first) ? first.text : blocks;
}
