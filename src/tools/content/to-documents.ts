import { Document } from "@langchain/core/documents";
import type { McpResourceContent } from "../../client/resource-client.js";
import {
  decodeText,
  textBlock,
  toContent,
  toLangChainBlock,
  stringifyWithoutBinary,
} from "./langchain-block.js";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { McpPrompt } from "../../client/prompt-client.js";

/** The metadata of a LangChain document that was created from an MCP resource. */
export interface ResourceMetadata extends Record<string, unknown> {
  /** The same as `uri`: LangChain's conventional key. */
  source: string;
  /** The URI of the resource. */
  uri: string;
  /** The name of the server. */
  server: string;
  /** The name in the server's resource list. */
  name?: string;
  /** The MIME type, if the server declares one. */
  mimeType?: string;
  /** Base64 of content that is not text. */
  blob?: string;
}

/**
 * Converts the contents of a resource to documents. Textual blobs are decoded. Other blobs are in the metadata:
 * base64 in `pageContent` would be split, embedded and shown to models.
 */
export function toDocuments(
  contents: readonly McpResourceContent[],
  { server, name }: { server: string; name?: string | undefined },
): Document<ResourceMetadata>[] {
  return contents.map(({ uri, mimeType, text, blob }) => {
    const metadata = {
      source: uri,
      uri,
      server,
      ...(name === undefined ? {} : { name }),
      ...(mimeType === undefined ? {} : { mimeType }),
    };
    const pageContent = text ?? decodeText(blob, mimeType);
    if (pageContent !== undefined) return new Document({ pageContent, metadata });
    return new Document({ pageContent: "", metadata: { ...metadata, blob } });
  });
}

/** Converts an MCP prompt to LangChain messages. */
export function toMessages({ messages }: McpPrompt): BaseMessage[] {
  return messages.map((message) => {
    const content = toContent(
      message.content.map((block) => toLangChainBlock(block) ?? textBlock(stringifyWithoutBinary(block))),
    );
    return message.role === "user" ? new HumanMessage({ content }) : new AIMessage({ content });
  });
}
