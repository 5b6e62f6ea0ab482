import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** What is to be completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionCall = (
  | { readonly prompt: string; readonly resourceTemplate?: undefined }
  | { readonly resourceTemplate: string; readonly prompt?: undefined }
) & {
  readonly argument: string;
  /** What has been typed so far. */
  readonly value: string;
  /** Other arguments or variables that have their value already. */
  readonly given?: Readonly<Record<string, string>> | undefined;
};

export interface Completion {
  readonly values: readonly string[];
  /** How many there are, where the server says so. */
  readonly total?: number | undefined;
  /** There are more than these. */
  readonly hasMore: boolean;
}

export const NO_COMPLETION: Completion = { values: [], hasMore: false };

export function toCompletionParams({
  prompt,
  resourceTemplate,
  argument,
  value,
  given,
}: CompletionCall): JsonObject {
  const ref =
    prompt === undefined
      ? { type: "ref/resource", uri: resourceTemplate }
      : { type: "ref/prompt", name: prompt };
  const context = given === undefined ? {} : { context: { arguments: given } };
  return { ref, argument: { name: argument, value }, ...context };
}

export function toCompletion(result: unknown, server: string): Completion {
  const completion = isPlainObject(result) ? result["completion"] : undefined;
  const { values, total, hasMore } = isPlainObject(completion) ? completion : {};
  if (!Array.isArray(values))
    throw new McpRuntimeError("invalid-response", `Server "${server}" completed without a list of values.`, {
      server,
    });
  return {
    values: values.filter((value) => typeof value === "string"),
    hasMore: hasMore === true,
    ...(typeof total === "number" ? { total } : {}),
  };
}
