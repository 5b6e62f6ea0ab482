import { classifyFailure, leavesOutcomeOpen } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { deniesSession } from "../transports/http/session-loss.js";
import type { ErrorContext } from "./rpc-failure.js";

/**
 * A transport that is not ours failed. Before it was started nothing can have been sent; after that
 * its error may carry an HTTP status or say that there was no connection, and else nothing is certain.
 */
export function fromTransport(
  error: unknown,
  phase: "start" | "send",
  { server, redactor, hasSession }: ErrorContext & { readonly hasSession: boolean },
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const words = error instanceof Error ? error.message : String(error);
  const status = statusIn(error);
  const kind = classifyFailure({
    status,
    hadSession: hasSession,
    deniesSession: deniesSession(words),
    wasSent: phase === "start" ? false : undefined,
    networkCodes: networkCodesIn(error),
  });
  const what =
    status === undefined
      ? `The transport of server "${server}" failed`
      : `Server "${server}" answered HTTP ${status}`;
  const outcomeUnknown = leavesOutcomeOpen(kind);
  const details = { server, status, outcomeUnknown, cause: redactor.cause(error) };
  return new McpRuntimeError(kind, `${what}: ${quoteServer(redactor.text(words))}`, details);
}

/** The SDK's HTTP errors have it for a code, or among their data. */
function statusIn(error: unknown): number | undefined {
  return [codeOf(error), propertyOf(propertyOf(error, "data"), "status")].find(isFailureStatus);
}

function isFailureStatus(value: unknown): value is number {
  return typeof value === "number" && value >= 400 && value < 600;
}

/** Global fetch wraps the reason in a cause, and several addresses of one host in a list. */
function networkCodesIn(error: unknown): readonly unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...(cause instanceof AggregateError ? cause.errors : [])].map(codeOf);
}

function codeOf(error: unknown): unknown {
  return propertyOf(error, "code");
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
