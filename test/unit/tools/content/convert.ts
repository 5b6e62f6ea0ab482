import { toToolResult } from "../../../../src/client/tool-result.js";
import {
  CONTENT_DEFAULTS,
  toToolContent,
  type ContentOptions,
} from "../../../../src/tools/content/tool-content.js";

/** What `toToolContent` makes of a result as it came over the wire. */
export async function convert(
  result: unknown,
  options: Partial<ContentOptions> = {},
): Promise<ReturnType<typeof toToolContent>> {
  const read = toToolResult(result, { server: "files", tool: "read" });
  return toToolContent(read, { ...CONTENT_DEFAULTS, ...options });
}

/** The content made of these blocks. */
export async function contentOf(
  content: readonly unknown[],
  options: Partial<ContentOptions> = {},
): Promise<ReturnType<typeof toToolContent>["content"]> {
  return (await convert({ content }, options)).content;
}
