import { adviceForCode, classifyFailure, leavesOutcomeOpen } from "../../errors/classify-failure.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import type { ResponseHeaders } from "../../net/http-request.js";
import { ProxyError } from "../../net/proxy-error.js";
import { deniesSession, rpcErrorOf } from "./session-loss.js";
import { whyNoTls } from "../../net/tls-errors.js";

/** The server that a failure is about, and what must not be said of it. */
export interface FailureContext {
  readonly server: string;
  readonly origin: string;
  readonly redactor: Redactor;
}

export interface FailedResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  /** Whether the request carried a session id. */
  readonly hadSession: boolean;
}

/** The failure that an HTTP status other than 2xx stands for. */
export function toStatusFailure(response: FailedResponse, context: FailureContext): McpRuntimeError {
  const { status, headers, body, hadSession } = response;
  const rpcError = rpcErrorOf(body);
  const retryAt = toRetryAt(headers["retry-after"]);
  const kind = classifyFailure({
    status,
    code: rpcError?.code,
    hasRetryAfter: retryAt !== undefined,
    hadSession,
    deniesSession: deniesSession(rpcError?.message ?? body),
  });
  const said = quoteServer(context.redactor.text(rpcError?.message ?? toPlainText(headers, body)));
  const where = `Server "${context.server}" answered HTTP ${status}`;
  const isLost = kind === "session-lost";
  const advice = isLost ? "The server does not know this session." : adviceFor(response, context);
  const message = `${where}${said === "" ? "" : `: ${said}`}${/[.!?…]$/.test(said) ? "" : "."}${advice === "" ? "" : ` ${advice}`}`;
  return new McpRuntimeError(kind, message, {
    server: context.server,
    status,
    code: rpcError?.code,
    retryAt: kind === "rate-limited" ? retryAt : undefined,
    outcomeUnknown: leavesOutcomeOpen(kind),
  });
}

/** A stream that should have gone on was ended by the server. */
export const STREAM_ENDED = Object.assign(new Error("The stream ended."), { code: "the stream ended" });

/** The connection failed. Only what was never handed to a connection has certainly not been sent. */
export function toConnectionFailure(
  error: Error,
  wasSent: boolean,
  context: FailureContext,
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const { server, origin } = context;
  const kind = classifyFailure({ wasSent });
  const text =
    kind === "not-sent"
      ? `Server "${server}" ${whyNotSent(error, context)}`
      : `Server "${server}" at ${origin} closed the connection before it answered (${codeOf(error)}). It may have run the request.`;
  const cause = context.redactor.cause(error);
  return new McpRuntimeError(kind, text, { server, cause, outcomeUnknown: leavesOutcomeOpen(kind) });
}

function codeOf(error: Error): string {
  return String(Reflect.get(error, "code") ?? error.name);
}

function whyNotSent(error: Error, { origin, redactor }: FailureContext): string {
  if (error instanceof ProxyError) return error.message;
  const code = codeOf(error);
  switch (code) {
    case "ECONNREFUSED":
      return `refused the connection at ${origin}. Is it running?`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `has a host that is not known: ${origin}. Is the address right?`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return `did not accept a connection at ${origin} in time. Is it reachable from here?`;
    case "UND_ERR_INVALID_ARG":
      return `was not sent the request: ${redactor.text(error.message)}. A dispatcher of your own has to be of undici 7 or later.`;
    default:
      return whyNoTls(code) ?? `cannot be reached at ${origin} (${code}).`;
  }
}

function adviceFor({ status, headers, body }: FailedResponse, context: FailureContext): string {
  if (status === 401 || status === 403) return "Check its credentials.";
  const isNoMcp = rpcErrorOf(body) === undefined;
  if ((status === 404 || status === 405) && isNoMcp) return "Is the path of the URL right?";
  if (status >= 300 && status < 400) {
    const target = redirectTarget(headers, context.origin)?.origin;
    if (target === undefined || target === context.origin)
      return "It redirects in a way that is not followed.";
    return `Redirects to another origin are not followed; if ${target} is right, write it in the definition.`;
  }
  return adviceForCode(rpcErrorOf(body)?.code);
}

/** Where a redirect points to, if it says so in a way that can be read. */
export function redirectTarget(headers: ResponseHeaders, base: string): URL | undefined {
  const { location } = headers;
  return typeof location === "string" && URL.canParse(location, base) ? new URL(location, base) : undefined;
}

/** `Retry-After` as seconds or as a date. */
export function toRetryAt(header: string | string[] | undefined): Date | undefined {
  if (typeof header !== "string") return undefined;
  const value = header.trim();
  const time = /^\d+$/.test(value) ? Date.now() + Number(value) * 1000 : Date.parse(value);
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** A page of HTML says nothing in one line. */
function toPlainText(headers: ResponseHeaders, body: string): string {
  return String(headers["content-type"] ?? "").includes("html") || body.trimStart().startsWith("<")
    ? ""
    : body;
}
