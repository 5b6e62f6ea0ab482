import { isPlainObject, type JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";

/** One piece of a result: `text`, `image`, `audio`, `resource`, `resource_link`, or what is yet to come. */
export type ContentBlock = JsonObject & { readonly type: string };

/** Any schema library that speaks Standard Schema: zod, valibot, arktype. */
export interface OutputSchema<Output> {
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

/** What a tool gave back. `isError` is the tool's own word: the call itself went well. */
export class ToolResult<Structured = unknown> {
  readonly content: readonly ContentBlock[];
  readonly structuredContent: Structured;
  readonly isError: boolean;
  readonly meta: JsonObject | undefined;
  /** The tool has not run yet: its server wants to know this first. */
  readonly inputRequired: InputRequired | undefined;
  readonly #origin: ResultOrigin;

  constructor(result: JsonObject, structuredContent: Structured, origin: ResultOrigin) {
    this.content = contentOf(result, origin);
    this.structuredContent = structuredContent;
    this.isError = result["isError"] === true;
    this.meta = isPlainObject(result["_meta"]) ? result["_meta"] : undefined;
    this.inputRequired = toInputRequired(result);
    this.#origin = origin;
  }

  /** All text blocks, a line each. */
  text(): string {
    const texts = this.content.map((block) => (block.type === "text" ? block["text"] : undefined));
    return texts.filter((text) => typeof text === "string").join("\n");
  }

  /** The structured content, or else the text read as JSON. */
  json(): unknown {
    if (this.structuredContent !== undefined) return this.structuredContent;
    try {
      return JSON.parse(this.text());
    } catch {
      throw malformed(this.#origin, "its text is not JSON");
    }
  }
}

/** What a server without sessions wants to know before it runs a tool. */
export interface InputRequired {
  /** What a person is asked, by the server's own keys. */
  readonly requests: Readonly<Record<string, JsonObject>>;
  /** What is answered already. */
  readonly responses: JsonObject;
  /** What the server wants to be reminded of. */
  readonly state: string | undefined;
}

function toInputRequired(result: JsonObject): InputRequired | undefined {
  const { resultType, inputRequests, inputResponses = {}, requestState } = result;
  if (resultType !== "input_required" || !isPlainObject(inputRequests)) return undefined;
  return {
    requests: inputRequests as InputRequired["requests"],
    responses: inputResponses as JsonObject,
    state: typeof requestState === "string" ? requestState : undefined,
  };
}

interface ResultOrigin {
  readonly server: string;
  readonly tool: string;
  /** How often the call was tried until this came. */
  readonly attempts?: number;
}

/** Reads the result of `tools/call`. */
export function toToolResult<Output>(value: unknown, origin: ResultOrigin): ToolResult<Output> {
  if (!isPlainObject(value)) throw malformed(origin, "it is not an object");
  return new ToolResult(value, value["structuredContent"] as Output, origin);
}

/** Reads it, and has `structuredContent` checked and typed by a schema. */
export async function toCheckedResult<Output>(
  value: unknown,
  origin: ResultOrigin,
  schema: OutputSchema<Output>,
): Promise<ToolResult<Output>> {
  const result = toToolResult<Output>(value, origin);
  if (!isPlainObject(value) || result.isError || value["resultType"] === "input_required") return result;
  const checked = await validated(result.structuredContent, schema, origin);
  if (checked.issues === undefined) return new ToolResult(value, checked.value, origin);
  const issues = checked.issues.map(({ message, path }) => ({
    path: ["structuredContent", ...(path ?? []).map(toSegment)].join("."),
    message,
  }));
  const problems = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw malformed(origin, `it does not fit the output schema (${problems})`, issues);
}

/** A schema is the caller's code: one that is none, or that throws, is the caller's to mend. */
async function validated<Output>(
  value: unknown,
  schema: OutputSchema<Output>,
  { server, tool }: ResultOrigin,
) {
  try {
    return await schema["~standard"].validate(value);
  } catch (cause) {
    const text = `The output schema for tool "${tool}" cannot be used: ${String(cause)}`;
    throw new McpRuntimeError("invalid-config", text, { server, tool, cause });
  }
}

function contentOf(result: JsonObject, origin: ResultOrigin): readonly ContentBlock[] {
  const content = result["content"] ?? [];
  if (!Array.isArray(content)) throw malformed(origin, "its content is not a list");
  return content.filter(
    (block): block is ContentBlock => isPlainObject(block) && typeof block["type"] === "string",
  );
}

function toSegment(segment: unknown): string {
  return String(isPlainObject(segment) ? segment["key"] : segment);
}

function malformed(
  { server, tool }: ResultOrigin,
  why: string,
  issues: McpRuntimeError["issues"] = [],
): McpRuntimeError {
  return new McpRuntimeError(
    "invalid-response",
    `The result of tool "${tool}" of server "${server}" cannot be used: ${why}.`,
    {
      server,
      tool,
      issues,
    },
  );
}
