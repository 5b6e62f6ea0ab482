import { extname } from "node:path";
import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { isPlainObject } from "../../json/json.js";
import { stripHiddenCharacters } from "../../errors/sanitize-text.js";

/** Binary content of a block. */
interface Bytes {
  readonly bytes: Uint8Array;
  readonly type: string;
}

/** Returns the binary content of an image, audio or resource block. */
function getBytes(block: ContentBlock): Bytes | undefined {
  const source = isPlainObject(block["resource"]) ? block["resource"] : block;
  const data = source["data"] ?? source["blob"];
  if (typeof data !== "string") return undefined;
  const type = typeof source["mimeType"] === "string" ? source["mimeType"] : "application/octet-stream";
  return { bytes: Buffer.from(data, "base64"), type };
}

/** Renders text blocks verbatim and other blocks as one line. */
export function renderContent(
  { content, structuredContent }: ToolResult,
  render: (block: ContentBlock) => string = renderBlock,
): string {
  if (content.length === 0 && structuredContent !== undefined)
    return JSON.stringify(structuredContent, undefined, 2);
  return content.map(render).join("\n");
}

export function renderBlock(block: ContentBlock): string {
  if (block.type === "text" && typeof block["text"] === "string") return block["text"];
  const { resource } = block;
  if (isPlainObject(resource) && typeof resource["text"] === "string") return resource["text"];
  const binary = getBytes(block);
  if (binary !== undefined)
    return `[${block.type}: ${stripHiddenCharacters(binary.type)}, ${formatSize(binary.bytes.length)}; save it with --output]`;
  const { uri } = block;
  return typeof uri === "string" ? `[${block.type}: ${stripHiddenCharacters(uri)}]` : JSON.stringify(block);
}

function formatSize(bytes: number): string {
  return bytes < 1_000 ? `${bytes} bytes` : `${(bytes / 1_000).toFixed(1)} kB`;
}

interface OutputFile {
  readonly file: string;
  readonly content: string | Uint8Array;
  /** The block in the file; undefined if it contains the text. */
  readonly block?: ContentBlock;
}

/** Returns the files that `--output` writes: one per binary block, or one with the text. */
export function toOutputFiles(result: ToolResult, output: string): readonly OutputFile[] {
  const files = result.content.flatMap((block) => {
    const content = getBytes(block)?.bytes;
    return content === undefined ? [] : [{ block, content }];
  });
  const [first, second] = files;
  if (first === undefined) return [{ file: output, content: renderContent(result) }];
  if (second === undefined) return [{ ...first, file: output }];
  const extension = extname(output);
  const stem = output.slice(0, output.length - extension.length);
  return files.map((file, index) => ({ ...file, file: `${stem}-${index + 1}${extension}` }));
}
