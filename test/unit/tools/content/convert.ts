import { toToolResult } from "../../../../src/client/tool-result.js";
import { toToolContent, type ContentOptions } from "../../../../src/tools/content/tool-content.js";
import { TOOL_DEFAULTS } from "../../../../src/tools/tool-options.js";

/** The options of a tool call with the default options. */
export const CONTENT_DEFAULTS: ContentOptions = {
  ...TOOL_DEFAULTS,
  contentChars: TOOL_DEFAULTS.limits.contentChars,
  truncate: true,
};

/** Converts a `tools/call` result with `toToolContent`. */
export async function convert(
  result: unknown,
  options: Partial<ContentOptions> = {},
): Promise<ReturnType<typeof toToolContent>> {
  const toolResult = toToolResult(result, { server: "files", tool: "read" });
  return toToolContent(toolResult, { ...CONTENT_DEFAULTS, ...options });
}

export async function contentOf(
  content: readonly unknown[],
  options: Partial<ContentOptions> = {},
): Promise<ReturnType<typeof toToolContent>["content"]> {
  return (await convert({ content }, options)).content;
}
