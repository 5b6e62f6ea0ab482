import type { CallContext } from "../config/call-context.js";
import type { IdentityOption } from "../config/credential-options.js";
import { isPlaceholder } from "../config/http-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { ignoreRejection, isPromiseLike } from "../json/json.js";
import type { CallerContext } from "./call-options.js";
import { SHARED_IDENTITY } from "../session/session.js";

/** The argument of the `identity`, `headers` and `auth` functions of a server definition. */
export function toCallContext(
  caller: CallerContext = {},
  request: Pick<CallContext, "purpose" | "server"> &
    Partial<Pick<CallContext, "tool" | "toolCallId" | "signal">>,
): CallContext {
  const { configurable = {}, config = {}, context, state, store, runId } = caller;
  const { purpose, server, tool, toolCallId, signal } = request;
  return { purpose, server, tool, toolCallId, configurable, context, state, store, signal, runId, config };
}

const CALLER_FIELDS = ["configurable", "context", "state", "store", "config", "runId"] as const;

/** Copies the known fields only: the object of the caller may have more. */
export function toPlainCallerContext(caller: CallerContext): CallerContext {
  return Object.fromEntries(CALLER_FIELDS.map((field) => [field, caller[field]]));
}

/** Tools are listed at the start, when there is no user yet. */
const DISCOVERY_HINT =
  ' Tools are listed without a user: return the name of a service account when context.purpose is "discovery", or set optional: true and list with toolsFor(config).';

const CALL_HINT =
  " Add what it reads to the config of the run, for example { configurable: { user } }, or to the call.";

/**
 * Resolves the identity of a request. An empty identity, or one made from a missing value, is rejected: unrelated callers
 * would share a session.
 */
export function resolveIdentity(identity: IdentityOption, context: CallContext, redactor: Redactor): string {
  const { server, tool, purpose } = context;
  const identityError = (reason: string, cause?: unknown) =>
    new McpRuntimeError(
      "unauthorized",
      `Server "${server}": cannot determine the identity of a ${purpose}: identity(context) ${reason}. Nothing was sent.${purpose === "discovery" ? DISCOVERY_HINT : CALL_HINT}`,
      { server, tool, cause: redactor.redactCause(cause) },
    );
  let result: unknown;
  try {
    result = identity(context);
  } catch (error) {
    if (error instanceof McpRuntimeError) throw error;
    throw identityError(`failed: ${redactor.redact(describeThrown(error))}`, error);
  }
  if (typeof result !== "string") {
    if (isPromiseLike(result)) ignoreRejection(result);
    throw identityError(`returned ${describeType(result)}, expected a string`);
  }
  if (result === SHARED_IDENTITY) throw identityError("returned an empty string");
  if (isPlaceholder(result)) throw identityError(`returned ${JSON.stringify(result)}, for a missing value`);
  return result;
}

function describeType(value: unknown): string {
  if (isPromiseLike(value)) return "a promise";
  return value === null ? "null" : typeof value === "object" ? "an object" : typeof value;
}
