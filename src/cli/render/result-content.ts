import { extname } from "node:path";
import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { isPlainObject } from "../../json/json.js";
import { toReadable } from "../../errors/sanitize-text.js";

/** What can be saved of a block. */
interface Bytes {
  readonly bytes: Uint8Array;
  readonly type: string;
}

/** The bytes of a block that has some: an image, a sound, a document. */
function bytesOf(block: ContentBlock): Bytes | undefined {
  const holder = isPlainObject(block["resource"]) ? block["resource"] : block;
  const data = holder["data"] ?? holder["blob"];
  if (typeof data !== "string") return undefined;
  const type = typeof holder["mimeType"] === "string" ? holder["mimeType"] : "application/octet-stream";
  return { bytes: Buffer.from(data, "base64"), type };
}

/** Texts as they are, and a line about everything else. */
export function contentText(
  { content, structuredContent }: ToolResult,
  textOf: (block: ContentBlock) => string = blockText,
): string {
  if (content.length === 0 && structuredContent !== undefined)
    return JSON.stringify(structuredContent, undefined, 2);
  return content.map(textOf).join("\n");
}

export function blockText(block: ContentBlock): string {
  if (block.type === "text" && typeof block["text"] === "string") return block["text"];
  const { resource } = block;
  if (isPlainObject(resource) && typeof resource["text"] === "string") return resource["text"];
  const found = bytesOf(block);
  if (found !== undefined)
    return `[${block.type}: ${toReadable(found.type)}, ${sizeText(found.bytes.length)}; save it with --output]`;
  const { uri } = block;
  return typeof uri === "string" ? `[${block.type}: ${toReadable(uri)}]` : JSON.stringify(block);
}

function sizeText(bytes: number): string {
  return bytes < 1_000 ? `${bytes} bytes` : `${(bytes / 1_000).toFixed(1)} kB`;
}

interface OutputFile {
  readonly file: string;
  readonly content: string | Uint8Array;
  /** The block that it holds; missing where it holds all text. */
  readonly block?: ContentBlock;
}

/** What `--output` writes: everything that has bytes, each into a file of its own, or else the text. */
export function filesOf(result: ToolResult, output: string): readonly OutputFile[] {
  const found = result.content.flatMap((block) => {
    const content = bytesOf(block)?.bytes;
    return content === undefined ? [] : [{ block, content }];
  });
  const [only, another] = found;
  if (only === undefined) return [{ file: output, content: contentText(result) }];
  if (another === undefined) return [{ ...only, file: output }];
  const ending = extname(output);
  const stem = output.slice(0, output.length - ending.length);
  return found.map((one, index) => ({ ...one, file: `${stem}-${index + 1}${ending}` }));
}
