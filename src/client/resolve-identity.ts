import type { CallContext } from "../config/call-context.js";
import type { IdentityOption } from "../config/credential-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { CallerContext } from "./call-options.js";

/** Everybody, on a server whose users all are one. */
export const SHARED_IDENTITY = "";

interface Asked {
  readonly server: string;
  readonly tool?: string | undefined;
  readonly purpose: CallContext["purpose"];
  readonly toolCallId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What functions of a definition are told about a request. */
export function toCallContext(given: CallerContext = {}, asked: Asked): CallContext {
  const { configurable = {}, config = {}, context, state, store, runId } = given;
  const { purpose, server, tool, toolCallId, signal } = asked;
  return { purpose, server, tool, toolCallId, configurable, context, state, store, signal, runId, config };
}

/** Who asks, and nothing else that the caller's object may have: a plain one. */
export function toCaller({
  configurable,
  context,
  state,
  store,
  config,
  runId,
}: CallerContext): CallerContext {
  return { configurable, context, state, store, config, runId } as CallerContext;
}

/** Whose session a request belongs to. Nobody's is no answer: it would be shared with other nobodies. */
export function identify(identity: IdentityOption, context: CallContext, redactor: Redactor): string {
  const { server, tool, purpose } = context;
  const refuse = (why: string, cause?: unknown) =>
    new McpRuntimeError(
      "unauthorized",
      `Server "${server}" does not know whose ${purpose} this is: identity(context) ${why}. Nothing was sent.`,
      { server, tool, cause: redactor.cause(cause) },
    );
  let found: unknown;
  try {
    found = identity(context);
  } catch (error) {
    if (error instanceof McpRuntimeError) throw error;
    throw refuse(`failed: ${redactor.text(error instanceof Error ? error.message : String(error))}`, error);
  }
  if (typeof found !== "string") throw refuse(`gave ${describe(found)} where a text is needed`);
  if (found === SHARED_IDENTITY) throw refuse("gave an empty text");
  return found;
}

function describe(value: unknown): string {
  if (value instanceof Promise) return "a promise";
  return value === null ? "null" : typeof value === "object" ? "an object" : typeof value;
}
