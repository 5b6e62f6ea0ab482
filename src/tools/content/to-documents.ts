import { Document } from "@langchain/core/documents";
import type { McpResourceContent } from "../../client/resource-content.js";
import { toBase64, toMimeType } from "./data-block.js";

/** What a document of an MCP resource tells besides its text. */
export interface ResourceMetadata extends Record<string, unknown> {
  /** The same as `uri`, where LangChain looks for it. */
  source: string;
  uri: string;
  server: string;
  /** As the server lists it, where it does. */
  name?: string;
  mimeType?: string;
  /** Base64 of what is no text. */
  blob?: string;
}

interface DocumentOrigin {
  readonly server: string;
  readonly name?: string | undefined;
}

/**
 * What was read of a resource, as LangChain's documents. Bytes that are text are read as text. Other
 * bytes stay in the metadata: base64 as the page's content would be split, embedded and shown to models.
 */
export function toDocuments(
  contents: readonly McpResourceContent[],
  { server, name }: DocumentOrigin,
): Document<ResourceMetadata>[] {
  return contents.map(({ uri, mimeType, text, blob }) => {
    const about = {
      source: uri,
      uri,
      server,
      ...(name === undefined ? {} : { name }),
      ...(mimeType === undefined ? {} : { mimeType }),
    };
    const pageContent = text ?? textOf(blob, mimeType);
    if (pageContent !== undefined) return new Document({ pageContent, metadata: about });
    return new Document({ pageContent: "", metadata: { ...about, blob } });
  });
}

const TEXTUAL =
  /^text\/|^application\/(?:json|xml|yaml|toml|javascript|x-yaml|x-ndjson|sql)$|\+(?:json|xml|yaml)$/;

function textOf(blob: string, mimeType: string | undefined): string | undefined {
  const base64 = TEXTUAL.test(toMimeType(mimeType) ?? "") ? toBase64(blob) : undefined;
  if (base64 === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(base64, "base64"));
  } catch {
    // It says that it is text, and is not.
    return undefined;
  }
}
