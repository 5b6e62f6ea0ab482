import type { CancelScope } from "../async/cancel-scope.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { BeforeToolCallResult, AfterToolCallResult } from "./tool-options.js";

/** Runs a hook or a rule's function, for no longer than the call itself is wanted. */
export function ask<T>(cancellation: CancelScope, work: () => T | Promise<T>): Promise<T> {
  cancellation.throwIfCancelled();
  return cancellation.race((async () => work())());
}

/** What `beforeToolCall` gave, checked: it is somebody's code, and its mistake is not the model's. */
export function checkChanges(changes: unknown): BeforeToolCallResult {
  if (changes === undefined || changes === null) return {};
  if (!isPlainObject(changes))
    throw mistake("beforeToolCall", `{ args, headers, deny }, found ${describeValue(changes)}`);
  const { args, headers, deny } = changes;
  if (args !== undefined && !isPlainObject(args))
    throw mistake("beforeToolCall", `args as an object, found ${describeValue(args)}`);
  if (deny !== undefined && typeof deny !== "string")
    throw mistake("beforeToolCall", `deny as a text, found ${describeValue(deny)}`);
  const areHeaders =
    headers === undefined ||
    (isPlainObject(headers) && Object.values(headers).every((value) => typeof value === "string"));
  if (!areHeaders) throw mistake("beforeToolCall", "headers as texts by name");
  return changes;
}

/** What `afterToolCall` gave, checked. */
export function checkReplacement(replacement: unknown): Partial<AfterToolCallResult> | undefined {
  if (replacement === undefined || replacement === null) return undefined;
  if (!isPlainObject(replacement))
    throw mistake("afterToolCall", `a result, found ${describeValue(replacement)}`);
  const { content } = replacement;
  const areBlocks = content === undefined || (Array.isArray(content) && content.every(isBlock));
  if (!areBlocks) throw mistake("afterToolCall", "content as a list of blocks, each with a type");
  return replacement;
}

function isBlock(block: unknown): block is JsonObject {
  return isPlainObject(block) && typeof block["type"] === "string";
}

function mistake(hook: string, expected: string): McpRuntimeError {
  return new McpRuntimeError("invalid-config", `${hook} has to give ${expected}.`);
}
