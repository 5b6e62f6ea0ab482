import { isPlainObject } from "../../json/json.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { classifyFailure, leavesOutcomeOpen } from "../../errors/classify-failure.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { CarriedFailure, type Flight } from "./aws-http-handler.js";
import { toRetryAt } from "../http/http-errors.js";
import { malformedAnswer } from "../json-rpc.js";

export interface LambdaContext {
  readonly server: string;
  readonly functionName: string;
  readonly redactor: Redactor;
}

/** Found by the AWS SDK before it sends anything: there is nobody to sign the request as. */
const NO_CREDENTIALS: ReadonlySet<string> = new Set(["CredentialsProviderError", "TokenProviderError"]);

/** An invocation that the AWS SDK could not bring to an end. */
export function toInvokeFailure(
  error: unknown,
  flight: Flight | undefined,
  context: LambdaContext,
): McpRuntimeError {
  if (error instanceof CarriedFailure) return error.failure;
  if (flight === undefined) return notPrepared(error, context);
  if (flight.status !== undefined && flight.status >= 300) return refused(error, flight, context);
  return malformedAnswer(context, String(error));
}

function notPrepared(error: unknown, { server, redactor }: LambdaContext): McpRuntimeError {
  const hasNoCredentials = error instanceof Error && NO_CREDENTIALS.has(error.name);
  const said = quoteServer(redactor.text(error instanceof Error ? error.message : String(error)));
  const text = hasNoCredentials
    ? `There are no AWS credentials for server "${server}": ${said}`
    : `The request to server "${server}" could not be made: ${said}`;
  const details = { server, cause: redactor.cause(error) };
  return new McpRuntimeError(hasNoCredentials ? "unauthorized" : "not-sent", text, details);
}

/** AWS answered in the place of the function. */
function refused(error: unknown, { status = 0, headers }: Flight, context: LambdaContext): McpRuntimeError {
  const { server, functionName, redactor } = context;
  const retryAt = toRetryAt(headers["retry-after"]);
  const kind = classifyFailure({ status, hasRetryAfter: retryAt !== undefined });
  const quote = (text: string) => quoteServer(redactor.text(text));
  const isTold = error instanceof Error && "$fault" in error;
  const said = isTold ? ` (${quote(error.name)}): ${quote(error.message)}` : ".";
  const advice = adviceFor(kind, status);
  const text = `AWS answered HTTP ${status} for function "${functionName}" of server "${server}"${said}${advice}`;
  return new McpRuntimeError(kind, text, {
    server,
    status,
    retryAt: kind === "rate-limited" ? retryAt : undefined,
    outcomeUnknown: leavesOutcomeOpen(kind),
    cause: redactor.cause(error),
  });
}

function adviceFor(kind: FailureKind, status: number): string {
  if (kind === "unauthorized")
    return " Check the AWS credentials and their permission lambda:InvokeFunction.";
  return status === 404 ? " Are functionName, qualifier and region right?" : "";
}

/**
 * The function was started and did not come to its end: it threw, ran out of its time or memory, or
 * its process died. It may have done part of its work.
 */
export function toFunctionFailure(payload: string, context: LambdaContext): McpRuntimeError {
  const { server, functionName, redactor } = context;
  const { errorType, errorMessage } = parsedReport(payload);
  const type = typeof errorType === "string" ? ` (${quoteServer(redactor.text(errorType))})` : "";
  const said = typeof errorMessage === "string" ? `: ${quoteServer(redactor.text(errorMessage))}` : ".";
  const text = `Function "${functionName}" of server "${server}" failed while it ran${type}${said}`;
  return new McpRuntimeError("server-error", text, { server, outcomeUnknown: true });
}

function parsedReport(payload: string): { errorType?: unknown; errorMessage?: unknown } {
  try {
    const report: unknown = JSON.parse(payload);
    return isPlainObject(report) ? report : {};
  } catch {
    return {};
  }
}
