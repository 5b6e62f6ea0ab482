import type { z } from "zod";
import { zodToIssues } from "../../config/zod-issues.js";
import type { JsonObject } from "../../json/json.js";
import { PLAIN_WORDS } from "../../config/zod-error-map.js";
import type { ServerRequestContext } from "../../config/server-request-handlers.js";

/**
 * Answers one kind of request of the server: checks what is asked, and gives the function that asks
 * whoever answers it.
 */
export type Answerer = (params: JsonObject) => (context: ServerRequestContext) => Promise<JsonObject>;

/** The codes of JSON-RPC, and MCP's own for a person who said no. */
export const ANSWER_CODES = {
  refused: -1,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
} as const;

/** Ends a request of the server. The message is all that the server is told; the warning stays on our side. */
export class AnswerError extends Error {
  readonly code: number;
  readonly warning: string | undefined;

  constructor(kind: keyof typeof ANSWER_CODES, message: string, warning?: string) {
    super(message);
    this.code = ANSWER_CODES[kind];
    this.warning = warning;
  }
}

/** What the server asks, or the error that says what is wrong with it. */
export function parseAsked<T>(schema: z.ZodType<T>, params: JsonObject): T {
  const parsed = schema.safeParse(params, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  throw new AnswerError("invalidParams", `Invalid params: ${describeIssues(parsed.error)}`);
}

/** What a handler gave, checked: it is somebody's code, and what it gets wrong the server need not know. */
export function parseGiven<T>(schema: z.ZodType<T>, handler: string, given: unknown): T {
  const parsed = schema.safeParse(given, PLAIN_WORDS);
  if (parsed.success) return parsed.data;
  throw unusable(handler, describeIssues(parsed.error));
}

/** For an answer of a handler that cannot be sent. */
export function unusable(handler: string, why: string): AnswerError {
  return new AnswerError(
    "internalError",
    "The client has no answer that can be used.",
    `${handler} gave an answer that cannot be used: ${why}.`,
  );
}

const MOST_ISSUES = 5;

function describeIssues(error: z.ZodError): string {
  const issues = zodToIssues(error).slice(0, MOST_ISSUES);
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}
