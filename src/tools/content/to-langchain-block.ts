import type { ContentBlock } from "../../client/tool-result.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { toReadable } from "../../errors/sanitize-text.js";
import { toMediaBlock, toResourceBlock } from "./data-block.js";
import { textBlock, type LangChainBlock } from "./langchain-block.js";

/** One block of MCP for LangChain. Undefined: its type is unknown, or it is not what its type says. */
export function toLangChainBlock(block: ContentBlock): LangChainBlock | undefined {
  switch (block.type) {
    case "text":
      return typeof block["text"] === "string" ? textBlock(block["text"]) : undefined;
    case "image":
    case "audio":
      return toMediaBlock(block.type, { data: block["data"], mimeType: block["mimeType"] });
    case "resource":
      return isPlainObject(block["resource"]) ? fromResource(block["resource"]) : undefined;
    case "resource_link":
      return mention(block);
    default:
      return undefined;
  }
}

function fromResource(resource: JsonObject): LangChainBlock | undefined {
  const { text, blob, mimeType, uri } = resource;
  if (typeof text === "string") return textBlock(text);
  // Some servers embed the address alone.
  if (blob === undefined || blob === null) return mention(resource);
  return toResourceBlock({ blob, mimeType, uri });
}

/**
 * A resource that is not here, in words. Not a file block with a URL: providers would try to fetch
 * it, and refuse the conversation over `file:` and every scheme that only its server knows.
 */
function mention({ uri, name, title, mimeType, description }: JsonObject): LangChainBlock | undefined {
  const address = toLine(uri);
  if (address === undefined) return undefined;
  const label = toLine(title) ?? toLine(name);
  const kind = toLine(mimeType);
  const about = toLine(description);
  const named = label === undefined ? "Resource" : `Resource "${label}"`;
  const typed = kind === undefined ? "" : ` (${kind})`;
  return textBlock(`${named}${typed}: ${address}${about === undefined ? "" : `\n${about}`}`);
}

function toLine(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const line = toReadable(value).replace(/\s+/g, " ").trim();
  return line === "" ? undefined : line;
}
