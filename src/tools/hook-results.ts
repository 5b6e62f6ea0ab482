import { ToolMessage } from "@langchain/core/messages/tool";
import { z } from "zod";
import { isContentBlock } from "../client/tool-result.js";
import {
  type ErrorLocation,
  exposeKeys,
  findKeys,
  option,
  optionsSchema,
  parseOptions,
} from "../config/parse-options.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, toArray } from "../json/json.js";
import { fromLangChainBlock, textBlock } from "./content/langchain-block.js";
import type { AfterToolCallResult, BeforeToolCallResult } from "./tool-options.js";
import type { ToolRuntime } from "./tool-run.js";

const BEFORE_RESULT_SCHEMA = optionsSchema<BeforeToolCallResult>({
  args: option.opaque("an object", isPlainObject),
  headers: z.record(z.string(), z.string()),
  deny: z.string(),
});

/** @throws McpRuntimeError `invalid-config`: the mistake is in the user's code, not in the model's call. */
export function parseBeforeCallResult(runtime: ToolRuntime, result: unknown): BeforeToolCallResult {
  if (result === undefined || result === null) return {};
  const { server, schema } = runtime;
  const subject = `The call to tool "${schema.info.name}" of server "${server}" was denied: what beforeToolCall returned`;
  return parseHookResult(BEFORE_RESULT_SCHEMA, result, { subject, server });
}

const AFTER_RESULT_SCHEMA = optionsSchema<Partial<AfterToolCallResult>>(
  {
    content: option.opaque(
      "an array of blocks, each with a type",
      (value) => Array.isArray(value) && value.every(isContentBlock),
    ),
    structuredContent: z.unknown(),
    isError: z.boolean(),
    meta: option.opaque("an object", isPlainObject),
  },
  { hint: "{ result } alone is accepted with the values that LangChain's adapter accepts" },
);

/**
 * Returns the fields of the result to replace, or `undefined` to keep all.
 *
 * @throws McpRuntimeError `invalid-config`
 */
export function parseAfterCallResult(
  { server, schema }: ToolRuntime,
  result: unknown,
): Partial<AfterToolCallResult> | undefined {
  if (result === undefined || result === null) return undefined;
  const subject = `Tool "${schema.info.name}" of server "${server}" ran, but its result is withheld: what afterToolCall returned`;
  if (isPlainObject(result) && Object.hasOwn(result, "result") && findKeys(result).length === 1) {
    const replaced = fromAdapterResult(result["result"]);
    if (typeof replaced !== "string") return replaced;
    throw configError(subject, [{ path: "result", message: replaced }], { server });
  }
  return parseHookResult(AFTER_RESULT_SCHEMA, result, { subject, server });
}

/** Class instances are refused: their fields may be inherited, and would be ignored. */
function parseHookResult<T>(schema: z.ZodType<T>, result: unknown, location: ErrorLocation): T {
  if (isPlainObject(result)) return parseOptions(schema, exposeKeys(result), location);
  const message = `expected an object or undefined, got ${describeValue(result)}`;
  throw configError(location.subject, [{ path: "", message }], location);
}

/**
 * Converts what hooks of `@langchain/mcp-adapters` return: a string, a ToolMessage, or `[content, artifacts]`. It
 * replaces the whole result. Returns what is wrong with a value that means something else here.
 */
function fromAdapterResult(result: unknown): Partial<AfterToolCallResult> | string {
  if (ToolMessage.isInstance(result)) {
    const isError = result.status === "error" ? { isError: true } : {};
    const replaced = replaceContent(result.content);
    return typeof replaced === "string" ? replaced : { ...replaced, ...isError };
  }
  if (!Array.isArray(result) || result.length !== 2) {
    const expected = "a string, a ToolMessage or [content, artifacts]";
    return typeof result === "string"
      ? replaceContent(result)
      : `expected ${expected}, got ${describeValue(result)}`;
  }
  const [content, artifacts] = result as [unknown, unknown];
  const hasArtifacts = !Array.isArray(artifacts) || artifacts.length > 0;
  return hasArtifacts
    ? "expected an empty array of artifacts; return { content, structuredContent, meta } instead"
    : replaceContent(content);
}

function replaceContent(value: unknown): Partial<AfterToolCallResult> | string {
  const blocks = typeof value === "string" ? [textBlock(value)] : toArray(value);
  const content = blocks.map(fromLangChainBlock).filter((block) => block !== undefined);
  const isContent = typeof value === "string" || Array.isArray(value);
  return isContent && content.length === blocks.length
    ? { content, structuredContent: undefined, meta: undefined }
    : "expected a string, or an array of text, image, audio and resource blocks as content";
}
