import type { CancelScope } from "../async/cancel-scope.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { BeforeToolCallResult, AfterToolCallResult } from "./tool-options.js";

/** Runs a hook or a rule's function until it settles or the call is cancelled. */
export function runHook<T>(cancellation: CancelScope, work: () => T | Promise<T>): Promise<T> {
  cancellation.throwIfCancelled();
  return cancellation.race((async () => work())());
}

/** @throws McpRuntimeError `invalid-config`: the mistake is in the user's code, not in the model's call. */
export function parseBeforeCallResult(changes: unknown): BeforeToolCallResult {
  if (changes === undefined || changes === null) return {};
  if (!isPlainObject(changes))
    throw hookError("beforeToolCall", `{ args, headers, deny }, got ${describeValue(changes)}`);
  const { args, headers, deny } = changes;
  if (args !== undefined && !isPlainObject(args))
    throw hookError("beforeToolCall", `args as an object, got ${describeValue(args)}`);
  if (deny !== undefined && typeof deny !== "string")
    throw hookError("beforeToolCall", `deny as a string, got ${describeValue(deny)}`);
  const areHeaders =
    headers === undefined ||
    (isPlainObject(headers) && Object.values(headers).every((value) => typeof value === "string"));
  if (!areHeaders) throw hookError("beforeToolCall", "headers as an object of strings");
  return changes;
}

/** @throws McpRuntimeError `invalid-config` */
export function parseAfterCallResult(changes: unknown): Partial<AfterToolCallResult> | undefined {
  if (changes === undefined || changes === null) return undefined;
  if (!isPlainObject(changes)) throw hookError("afterToolCall", `a result, got ${describeValue(changes)}`);
  const { content } = changes;
  const areBlocks = content === undefined || (Array.isArray(content) && content.every(isBlock));
  if (!areBlocks) throw hookError("afterToolCall", "content as an array of blocks, each with a type");
  return changes;
}

function isBlock(block: unknown): block is JsonObject {
  return isPlainObject(block) && typeof block["type"] === "string";
}

function hookError(hook: string, expected: string): McpRuntimeError {
  return new McpRuntimeError("invalid-config", `${hook} must return ${expected}.`);
}
