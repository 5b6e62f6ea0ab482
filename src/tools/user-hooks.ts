import type { Cancellation } from "../async/cancel-scope.js";
import { describeFound } from "../json/describe-value.js";
import { isJsonObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CallChanges, ResultPreview } from "./tool-options.js";

/** Runs a hook or a rule's function, for no longer than the call itself is wanted. */
export function ask<T>(cancellation: Cancellation, work: () => T | Promise<T>): Promise<T> {
  cancellation.throwIfCancelled();
  return cancellation.race((async () => work())());
}

/** What `beforeCall` gave, checked: it is somebody's code, and its mistake is not the model's. */
export function checkChanges(changes: unknown): CallChanges {
  if (changes === undefined || changes === null) return {};
  if (!isJsonObject(changes))
    throw mistake("beforeCall", `{ args, headers, veto }, found ${describeFound(changes)}`);
  const { args, headers, veto } = changes;
  if (args !== undefined && !isJsonObject(args))
    throw mistake("beforeCall", `args as an object, found ${describeFound(args)}`);
  if (veto !== undefined && typeof veto !== "string")
    throw mistake("beforeCall", `veto as a text, found ${describeFound(veto)}`);
  const areHeaders =
    headers === undefined ||
    (isJsonObject(headers) && Object.values(headers).every((value) => typeof value === "string"));
  if (!areHeaders) throw mistake("beforeCall", "headers as texts by name");
  return changes;
}

/** What `afterCall` gave, checked. */
export function checkReplacement(replacement: unknown): Partial<ResultPreview> | undefined {
  if (replacement === undefined || replacement === null) return undefined;
  if (!isJsonObject(replacement)) throw mistake("afterCall", `a result, found ${describeFound(replacement)}`);
  const { content } = replacement;
  const areBlocks = content === undefined || (Array.isArray(content) && content.every(isBlock));
  if (!areBlocks) throw mistake("afterCall", "content as a list of blocks, each with a type");
  return replacement;
}

function isBlock(block: unknown): block is JsonObject {
  return isJsonObject(block) && typeof block["type"] === "string";
}

function mistake(hook: string, expected: string): McpRuntimeError {
  return new McpRuntimeError("definition", `${hook} has to give ${expected}.`);
}
