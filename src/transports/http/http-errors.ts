import { errorCode, hintForCode, classifyFailure, isOutcomeUnknown } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ResponseHeaders } from "../../net/http-request.js";
import { describeMalformedResponse, describeTlsError } from "../../net/connect-errors.js";
import { ProxyError } from "../../net/http-proxy.js";
import { isPlainObject, tryParseJson } from "../../json/json.js";
import type { ErrorContext } from "../json-rpc.js";

/** The server that an error is about, and the redactor for its message. */
export interface HttpErrorContext extends ErrorContext {
  readonly origin: string;
}

export interface FailedResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
  /** Whether the request carried a session id. */
  readonly hadSession: boolean;
}

/** Converts a response with a status other than 2xx to an error. */
export function fromHttpStatus(response: FailedResponse, context: HttpErrorContext): McpRuntimeError {
  const { status, headers, body, hadSession } = response;
  const rpcError = findRpcError(body);
  const retryAt = toRetryAt(headers["retry-after"]);
  const kind = classifyFailure({
    status,
    code: rpcError?.code,
    hasRetryAfter: retryAt !== undefined,
    hadSession,
    reportsUnknownSession: reportsUnknownSession(rpcError?.message ?? body),
    reportsNoUpstream: rpcError === undefined && reportsNoUpstream(headers, body),
  });
  const serverText = context.redactor.excerpt(rpcError?.message ?? toPlainText(headers, body));
  const summary = `Server "${context.server}" returned HTTP ${status}`;
  const isLost = kind === "session-lost";
  const hint = isLost ? "The server does not know this session." : hintFor(response, context);
  const message = `${summary}${serverText === "" ? "" : `: ${serverText}`}${/[.!?…]$/.test(serverText) ? "" : "."}${hint === "" ? "" : ` ${hint}`}`;
  return new McpRuntimeError(kind, message, {
    server: context.server,
    status,
    code: rpcError?.code,
    retryAt: kind === "rate-limited" ? retryAt : undefined,
    outcomeUnknown: isOutcomeUnknown(kind),
  });
}

/** The server ended a stream that should have stayed open. */
export const STREAM_ENDED = Object.assign(new Error("The stream ended."), { code: "the stream ended" });

/** Converts a connection error. Only a request that was never written to a connection counts as not sent. */
export function fromConnectionError(
  error: Error,
  context: HttpErrorContext,
  { wasSent }: { readonly wasSent: boolean },
): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const { server, origin, redactor } = context;
  const cause = redactor.redactCause(error);
  // Requests that wait for a connection fail with the error of the one before them.
  const malformed = wasSent ? describeMalformedResponse(error) : undefined;
  if (malformed !== undefined) {
    const text = `Server "${server}" at ${origin} ${redactor.excerpt(malformed)}. It may have run the request.`;
    return new McpRuntimeError("invalid-response", text, { server, cause, outcomeUnknown: true });
  }
  const kind = classifyFailure({ wasSent });
  const text =
    kind === "not-sent"
      ? `Server "${server}" ${describeConnectError(error, context)}`
      : `Server "${server}" at ${origin} closed the connection before it responded (${describeCode(error)}). It may have run the request.`;
  return new McpRuntimeError(kind, text, { server, cause, outcomeUnknown: isOutcomeUnknown(kind) });
}

function describeCode(error: Error): string {
  const code = errorCode(error);
  return typeof code === "string" ? code : error.name;
}

function describeConnectError(error: Error, { origin, redactor }: HttpErrorContext): string {
  if (error instanceof ProxyError) return error.message;
  const code = describeCode(error);
  switch (code) {
    case "ECONNREFUSED":
      return `refused the connection at ${origin}. Is it running?`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `has an unknown host: ${origin}. Is the URL correct?`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return `did not accept a connection at ${origin} in time. Is it reachable from here?`;
    case "UND_ERR_INVALID_ARG":
      return `did not receive the request: ${redactor.redact(error.message)}. A custom dispatcher must be from undici 7 or later.`;
    default:
      return describeTlsError(code) ?? `cannot be reached at ${origin} (${code}).`;
  }
}

function hintFor({ status, headers, body }: FailedResponse, context: HttpErrorContext): string {
  if (status === 401 || status === 403) return `${describeChallenge(headers, context)}Check the credentials.`;
  const hasNoRpcError = findRpcError(body) === undefined;
  if ((status === 404 || status === 405) && hasNoRpcError) return "Is the path of the URL correct?";
  if (status >= 300 && status < 400) {
    const target = getRedirectTarget(headers, context.origin);
    if (target === undefined || target.origin === context.origin) return "This redirect is not followed.";
    // Other schemes have no origin, and no server behind them.
    if (!/^(?:https?|wss?):$/.test(target.protocol))
      return "Redirects to another scheme than HTTP are not followed.";
    const quoted = context.redactor.excerpt(target.origin);
    return `Redirects to another origin are not followed; if ${quoted} is correct, use it as the url of the server.`;
  }
  return hintForCode(findRpcError(body)?.code);
}

/** The reason that a server gives in `WWW-Authenticate`, such as an expired token. */
function describeChallenge(headers: ResponseHeaders, { redactor }: HttpErrorContext): string {
  const challenge = String(headers["www-authenticate"] ?? "");
  const description = /error_description="([^"]{1,500})"/.exec(challenge)?.[1];
  return description === undefined ? "" : `The server gives the reason "${redactor.excerpt(description)}". `;
}

/** Returns the target of a redirect, or `undefined` if there is no valid `Location`. */
export function getRedirectTarget(headers: ResponseHeaders, base: string): URL | undefined {
  const { location } = headers;
  return typeof location === "string" && URL.canParse(location, base) ? new URL(location, base) : undefined;
}

/** Parses `Retry-After`, which is a number of seconds or a date. */
export function toRetryAt(header: string | string[] | undefined): Date | undefined {
  if (typeof header !== "string") return undefined;
  const value = header.trim();
  const time = /^\d+$/.test(value) ? Date.now() + Number(value) * 1000 : Date.parse(value);
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Omits HTML pages, which are not readable as an excerpt. */
function toPlainText(headers: ResponseHeaders, body: string): string {
  return String(headers["content-type"] ?? "").includes("html") || body.trimStart().startsWith("<")
    ? ""
    : body;
}

/**
 * Texts by which proxies report with status 503 that they had no server for the request, so that nothing ran. Others, such
 * as nginx with its 502, respond the same way when a server has ended while it ran the request.
 */
const NO_UPSTREAM_PATTERNS: readonly RegExp[] = [
  /^<html><body><h1>503 Service Unavailable<\/h1>\s*No server is available to handle this request\.\s*<\/body>/, // haproxy
  /^no healthy upstream\s*$/, // Envoy
  // Envoy. Not "retried and the latest reset reason": an earlier attempt of the proxy may have run.
  /^upstream connect error or disconnect\/reset before headers\. reset reason: (?:remote |local )?connection failure\b/,
  /^no available server\s*$/, // Traefik
];

/**
 * Headers that only a server behind the proxy sets: it responded itself, or passes on the response of another proxy.
 */
const SERVER_HEADERS = ["mcp-session-id", "x-envoy-upstream-service-time", "x-powered-by"] as const;

function reportsNoUpstream(headers: ResponseHeaders, body: string): boolean {
  return (
    SERVER_HEADERS.every((name) => headers[name] === undefined) &&
    NO_UPSTREAM_PATTERNS.some((pattern) => pattern.test(body))
  );
}

/**
 * Texts by which servers that return 400 report an unknown session. Here and above are the only places where a decision
 * depends on the text of a message: these servers give no other indication.
 */
const UNKNOWN_SESSION_PATTERNS: readonly RegExp[] = [
  /no valid session/i, // SDK examples up to 1.31, server-everything
  /server not initiali[sz]ed/i, // one bare SDK transport after a restart
  /session(?:[ -]?id)?(?: header)?\b.{0,40}\b(?:not found|unknown|invalid|expired|missing|required|terminated|closed|not initiali[sz]ed)/i,
  /\bno\b.{0,20}\bfound for session/i, // servers on the SDK's SSE transport
  /\b(?:unknown|invalid|expired|missing|terminated)\b.{0,20}\bsession/i,
];

/** Whether the text of an error response reports that the session is unknown. */
export function reportsUnknownSession(text: string): boolean {
  return UNKNOWN_SESSION_PATTERNS.some((pattern) => pattern.test(text));
}

/** Returns the JSON-RPC error in a response body, if there is one. */
function findRpcError(body: string): { readonly code: number; readonly message: string } | undefined {
  const message = tryParseJson(body);
  const error = isPlainObject(message) ? message["error"] : undefined;
  if (!isPlainObject(error)) return undefined;
  const { code, message: text } = error;
  return typeof code === "number" && typeof text === "string" ? { code, message: text } : undefined;
}
