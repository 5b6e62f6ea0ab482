import type { z } from "zod";
import { ZOD_CONTEXT, zodToIssues } from "../../config/parse-options.js";
import type {
  ExtensionsOption,
  ServerRequestContext,
  ServerRequestHandlers,
} from "../../config/server-request-handlers.js";
import { RPC_CODES } from "../../errors/rpc-codes.js";
import { excerpt } from "../../errors/sanitize-text.js";
import { hasMoreValuesThan } from "../../json/describe-value.js";
import { type JsonObject, omitUndefined } from "../../json/json.js";

/**
 * Handles one method of requests from the server: validates the params and returns the function that runs
 * the user's handler.
 */
export type ServerRequestHandler = (
  params: JsonObject,
) => (context: ServerRequestContext) => Promise<JsonObject>;

/** JSON-RPC error codes, and the code that MCP uses when the user rejects a request. */
export const HANDLER_ERROR_CODES = { ...RPC_CODES, userRejected: -1 } as const;

/** Fails a request from the server. Only the message is sent to the server; the warning is logged locally. */
export class HandlerError extends Error {
  readonly code: number;
  readonly warning: string | undefined;

  constructor(kind: keyof typeof HANDLER_ERROR_CODES, message: string, warning?: string) {
    super(message);
    this.code = HANDLER_ERROR_CODES[kind];
    this.warning = warning;
  }
}

/** More than a long conversation has. Elicitation requests are limited further. */
const MAX_REQUEST_VALUES = 100_000;

/** Parses the params of a request. Throws a `HandlerError` whose message names what is invalid. */
export function parseRequest<T>(schema: z.ZodType<T>, params: JsonObject): T {
  if (hasMoreValuesThan(params, MAX_REQUEST_VALUES))
    throw new HandlerError("invalidParams", `Invalid params: more than ${MAX_REQUEST_VALUES} values.`);
  const parsed = schema.safeParse(params, ZOD_CONTEXT);
  if (parsed.success) return parsed.data;
  throw new HandlerError("invalidParams", `Invalid params: ${describeIssues(parsed.error)}`);
}

/**
 * Parses the result of the user's handler. Its mistakes are logged and not sent to the server. `summary` says in the log what
 * is invalid.
 */
export function parseHandlerResult<T>(schema: z.ZodType<T>, summary: string, result: unknown): T {
  const parsed = schema.safeParse(result, ZOD_CONTEXT);
  if (parsed.success) return parsed.data;
  throw invalidResultError(summary, describeIssues(parsed.error));
}

export function invalidResultError(summary: string, problem: string): HandlerError {
  return new HandlerError("internalError", "The client has no valid result.", `${summary}: ${problem}.`);
}

const MAX_ISSUES = 5;

function describeIssues(error: z.ZodError): string {
  const issues = zodToIssues(error).slice(0, MAX_ISSUES);
  return issues
    .map(({ path, message }) => (path === "" ? message : `${excerpt(path)}: ${message}`))
    .join("; ");
}

type EmptyCapability = Record<string, never>;

/** In the format of the protocol, which both versions of the SDK accept. */
type ClientCapabilities = {
  readonly extensions?: ExtensionsOption;
  readonly roots?: { readonly listChanged?: true };
  readonly sampling?: EmptyCapability;
  readonly elicitation?: { readonly form?: EmptyCapability; readonly url?: EmptyCapability };
};

/**
 * Returns the capabilities to declare: exactly those that have a handler, and the extensions. Only the roots of a function
 * can change. Revision 2026-07-28 has no notification of that.
 */
export function toCapabilities(handlers: ServerRequestHandlers): ClientCapabilities {
  const { extensions, roots, sample, elicitForm, elicitUrl } = handlers;
  const elicitation = omitUndefined({ form: elicitForm && {}, url: elicitUrl && {} });
  return omitUndefined({
    extensions,
    roots: roots && (typeof roots === "function" ? ({ listChanged: true } as const) : {}),
    sampling: sample && {},
    elicitation: Object.keys(elicitation).length === 0 ? undefined : elicitation,
  });
}
