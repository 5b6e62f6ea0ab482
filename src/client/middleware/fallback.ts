import type { FallbackCall } from "../../config/fallback-call.js";
import { isPlainObject } from "../../json/json.js";
import type { FallbackOption } from "../../config/server-definition.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ClientRequest, RequestContext, Middleware, Handler } from "../request-context.js";
import { failureOfRequest } from "../with-request-details.js";

export interface FallbackParts {
  readonly server: string;
  readonly warn: (message: string) => void;
}

/** What somebody has to hear of: no other answer takes its place. */
const NOT_REPLACED: ReadonlySet<FailureKind> = new Set(["closed", "invalid-config", "cancelled", "denied"]);

/** Answers a tool call in another way when everything else has failed. */
export function fallback(parts: FallbackParts, option: FallbackOption): Middleware {
  return (next) => (exchange) => {
    const { request } = exchange;
    const { tool } = request;
    if (tool === undefined) return next(exchange);
    // Made after the call: arguments that cannot be copied have failed by then.
    const call = () => toCall(request, tool, parts.server);
    return withFallback(exchange, next, { ...parts, option, call });
  };
}

interface FallbackOfCall extends FallbackParts {
  readonly option: FallbackOption;
  readonly call: () => FallbackCall;
}

async function withFallback(
  exchange: RequestContext,
  next: Handler,
  { option, call, server, warn }: FallbackOfCall,
): Promise<unknown> {
  const { answer, remember } =
    typeof option === "function" ? { answer: option, remember: undefined } : option;
  try {
    const result = await next(exchange);
    if (isPlainObject(result)) remember?.(call(), result);
    return result;
  } catch (error) {
    if (!(error instanceof McpRuntimeError) || NOT_REPLACED.has(error.kind)) throw error;
    const replacement = await tryAnswer(
      () => answer(failureOfRequest(error, exchange.request, server), call()),
      warn,
    );
    if (replacement === undefined) throw error;
    return replacement;
  }
}

function toCall(
  { params, identity, isIdempotent }: ClientRequest,
  tool: string,
  server: string,
): FallbackCall {
  const args = isPlainObject(params["arguments"]) ? params["arguments"] : {};
  return { server, tool, args: structuredClone(args), identity, isIdempotent };
}

/** A fallback that fails leaves the failure that it was asked about. */
async function tryAnswer(answer: () => unknown, warn: (message: string) => void): Promise<unknown> {
  try {
    const result = await answer();
    if (result === undefined || isPlainObject(result)) return result;
    warn("The fallback gave something that is no result; the failure stays.");
  } catch (error) {
    warn(`The fallback failed, and the failure stays: ${String(error)}`);
  }
  return undefined;
}
