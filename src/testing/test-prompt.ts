import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../json/json.js";
import { type Pagination, paginate } from "./paginate.js";

/** A prompt of `McpTestServer`. */
export interface TestPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** Returns the text of a user message, or a complete result. */
  readonly get: (args: Readonly<Record<string, string>>) => unknown;
  /** Returns completions for an argument, given the values of the other arguments. */
  readonly complete?: (
    argument: { readonly name: string; readonly value: string },
    others: Readonly<Record<string, string>>,
  ) => readonly string[];
}

export interface PromptBehavior {
  readonly prompts?: readonly TestPrompt[] | undefined;
  readonly pagination: Pagination;
}

const PROMPTS = { key: "prompts", extra: (position: number) => ({ name: `prompt-${position}` }) };

/** Adds the request handlers for prompts and completions. */
export function servePrompts(server: Server, behavior: () => PromptBehavior): void {
  const find = (wanted: string) => {
    const prompt = behavior().prompts?.find(({ name }) => name === wanted);
    if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `Prompt ${wanted} not found`);
    return prompt;
  };
  server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => {
    const { prompts = [], pagination } = behavior();
    return paginate({ ...PROMPTS, items: prompts.map(toListed) }, pagination, params?.cursor);
  });
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }) =>
    toResult(await find(params.name).get(params.arguments ?? {})),
  );
  server.setRequestHandler(CompleteRequestSchema, ({ params: { ref, argument, context } }) => {
    const prompt = ref.type === "ref/prompt" ? find(ref.name) : undefined;
    const values = [...(prompt?.complete?.(argument, context?.arguments ?? {}) ?? [])];
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

function toListed({ name, title, description, arguments: args }: TestPrompt): JsonObject {
  return { name, title, description, arguments: args };
}

function toResult(value: unknown): never {
  const message = { role: "user", content: { type: "text", text: String(value) } };
  return (typeof value === "object" && value !== null ? value : { messages: [message] }) as never;
}
