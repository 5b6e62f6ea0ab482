import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { MAX_TEXT_LENGTH, printValue, truncate } from "../errors/sanitize-text.js";
import { hasMoreValuesThan } from "../json/describe-value.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { type McpTask, PausedTask } from "./tasks/mcp-task.js";

/** A content block: `text`, `image`, `audio`, `resource`, `resource_link`, or a type of a later specification. */
export type ContentBlock = JsonObject & {
  /** Decides which other fields the block has. */
  readonly type: string;
};

/** A Standard Schema, as implemented by zod, valibot and arktype. */
export interface OutputSchema<Output> {
  /** The interface of Standard Schema. */
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}
type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly unknown[] | undefined;
      }[];
    };

/**
 * The result of a tool call. With `isError`, the tool reported an error, but the call itself succeeded.
 *
 * @example
 * ```ts
 * const result = await client.callTool({ name: "forecast", args: { city: "Oslo" } });
 * if (result.isError) console.error(result.text());
 * else console.log(result.structuredContent ?? result.text());
 * ```
 */
export class ToolResult<Structured = unknown> {
  /** The content blocks. */
  readonly content: readonly ContentBlock[];
  /** The structured content; `undefined` if the tool returned none. */
  readonly structuredContent: Structured;
  /** The tool reported an error. */
  readonly isError: boolean;
  /** `_meta` of the result. */
  readonly meta: JsonObject | undefined;
  /** Set if the tool has not run yet because the server requires input first. */
  readonly inputRequired: InputRequired | undefined;
  readonly #source: ResultSource;

  constructor(result: JsonObject, structuredContent: Structured, source: ResultSource) {
    this.content = parseContent(result, source);
    this.structuredContent = structuredContent;
    this.isError = result["isError"] === true;
    this.meta = isPlainObject(result["_meta"]) ? result["_meta"] : undefined;
    this.inputRequired = toInputRequired(result);
    this.#source = source;
  }

  /** The result in the format of the protocol. */
  toJSON(): JsonObject {
    const { content, structuredContent, isError, meta } = this;
    return {
      content,
      ...(structuredContent === undefined ? {} : { structuredContent }),
      ...(isError ? { isError } : {}),
      ...(meta === undefined ? {} : { _meta: meta }),
    };
  }

  /** Returns all text blocks, joined by newlines. */
  text(): string {
    const texts = this.content.map((block) => (block.type === "text" ? block["text"] : undefined));
    return texts.filter((text) => typeof text === "string").join("\n");
  }

  /**
   * Returns the structured content, or the text parsed as JSON.
   * @throws {McpRuntimeError} kind `invalid-response` if there is neither.
   */
  json(): unknown {
    if (this.structuredContent !== undefined) return this.structuredContent;
    try {
      return JSON.parse(this.text());
    } catch {
      throw invalidResultError(this.#source, "its text is not valid JSON");
    }
  }
}

/** Input that a server without sessions requires before it runs a tool. */
export interface InputRequired {
  /** The input requests, by the keys of the server. */
  readonly requests: Readonly<Record<string, JsonObject>>;
  /** Responses that are already known. */
  readonly responses: JsonObject;
  /** Opaque state of the server; send it back unchanged. */
  readonly requestState: string | undefined;
  /** Set if the input is for a task that is already running. */
  readonly taskId?: string | undefined;
  /** Set if the task has not ended and needs no input: the caller decides when to go on (`input.task`). */
  readonly task?: McpTask | undefined;
  /** Why the status of `task` could not be requested. */
  readonly error?: string | undefined;
}

function toInputRequired(result: JsonObject): InputRequired | undefined {
  const { resultType, inputRequests, inputResponses = {}, requestState, taskId, pausedTask } = result;
  if (resultType !== "input_required" || !isPlainObject(inputRequests)) return undefined;
  return {
    requests: inputRequests as InputRequired["requests"],
    responses: inputResponses as JsonObject,
    requestState: typeof requestState === "string" ? requestState : undefined,
    ...(typeof taskId === "string" ? { taskId } : {}),
    ...(pausedTask instanceof PausedTask
      ? omitUndefined({ task: pausedTask.task, error: pausedTask.error })
      : {}),
  };
}

interface ResultSource {
  readonly server: string;
  readonly tool: string;
  readonly attempts?: number;
}

/** Parses the result of `tools/call`. */
export function toToolResult<Output>(value: unknown, source: ResultSource): ToolResult<Output> {
  if (!isPlainObject(value)) throw invalidResultError(source, "it is not an object");
  return new ToolResult(value, value["structuredContent"] as Output, source);
}

/** A schema may create an issue for each value, which takes more memory than a process has if there are millions. */
const MAX_VALIDATED_VALUES = 1_000_000;
/** A schema may quote the values in its messages. */
const MAX_ISSUES = 100;

/** Parses the result of `tools/call` and validates `structuredContent` with a schema. */
export async function toValidatedResult<Output>(
  value: unknown,
  source: ResultSource,
  schema: OutputSchema<Output>,
): Promise<ToolResult<Output>> {
  const result = toToolResult<Output>(value, source);
  if (!isPlainObject(value) || result.isError || value["resultType"] === "input_required") return result;
  if (hasMoreValuesThan(result.structuredContent, MAX_VALIDATED_VALUES))
    throw invalidResultError(
      source,
      `structuredContent has more than ${MAX_VALIDATED_VALUES} values, too many for an output schema`,
    );
  const validation = await runSchema(result.structuredContent, schema, source);
  if (validation.issues === undefined) return new ToolResult(value, validation.value, source);
  const issues = validation.issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
    path: truncate(["structuredContent", ...(path ?? []).map(toSegment)].join("."), MAX_TEXT_LENGTH),
    message: truncate(message, MAX_TEXT_LENGTH),
  }));
  const others = validation.issues.length - issues.length;
  const listed = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const problems = others > 0 ? `${listed}; and ${others} more problems` : listed;
  throw invalidResultError(source, `it does not match the output schema (${problems})`, issues);
}

/** A schema that throws is a configuration error of the caller. */
async function runSchema<Output>(
  value: unknown,
  schema: OutputSchema<Output>,
  { server, tool, attempts }: ResultSource,
) {
  try {
    return await schema["~standard"].validate(value);
  } catch (cause) {
    const text = `The output schema for tool "${tool}" failed: ${printValue(cause)}`;
    throw new McpRuntimeError("invalid-config", text, { server, tool, attempts, cause });
  }
}

function parseContent(result: JsonObject, source: ResultSource): readonly ContentBlock[] {
  const content = result["content"] ?? [];
  if (!Array.isArray(content)) throw invalidResultError(source, "its content is not an array");
  return content.filter(isContentBlock);
}

export function isContentBlock(value: unknown): value is ContentBlock {
  return isPlainObject(value) && typeof value["type"] === "string";
}

function toSegment(segment: unknown): string {
  return printValue(isPlainObject(segment) ? segment["key"] : segment);
}

function invalidResultError(
  { server, tool, attempts }: ResultSource,
  reason: string,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  return new McpRuntimeError(
    "invalid-response",
    `The result of tool "${tool}" of server "${server}" is invalid: ${reason}.`,
    {
      server,
      tool,
      attempts,
      issues,
    },
  );
}
