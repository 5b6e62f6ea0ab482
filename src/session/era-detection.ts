import { CLIENT_INFO } from "../config/client-info.js";
import type { JsonObject } from "../json/json.js";
import type { ServerRequestHandlers } from "../config/server-request-handlers.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { CALLER_STATUSES } from "../transports/http/auth-and-rate-statuses.js";
import { META_KEYS, MODERN_VERSION } from "../transports/http/modern-era.js";
import { toCapabilities } from "./client-capabilities.js";

/** Asks a server what it is: the revision without sessions has this in place of a handshake. */
export const DISCOVER_METHOD = "server/discover";

/** The headers of a call are not what the server compares them with. */
export const HEADER_MISMATCH = -32_020;
export const INVALID_PARAMS = -32_602;
/** Codes with which only a server of this revision refuses a request over HTTP. */
const MODERN_REFUSALS: ReadonlySet<unknown> = new Set([
  -32_601,
  INVALID_PARAMS,
  HEADER_MISMATCH,
  -32_021,
  -32_022,
]);
/** How servers with sessions refuse a request that has none. */
const NO_SESSION_STATUSES: ReadonlySet<unknown> = new Set([400, 404, 405]);

/** What every request of that revision says of itself. */
export function toEnvelope(handlers: ServerRequestHandlers): JsonObject {
  return {
    [META_KEYS.protocolVersion]: MODERN_VERSION,
    [META_KEYS.clientInfo]: CLIENT_INFO,
    [META_KEYS.clientCapabilities]: toCapabilities(handlers),
  };
}

/** Whether a server has refused because it does not speak the revision, rather than for who asks, or when. */
export function refusesModern(failure: unknown): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  const { kind, status, code } = failure;
  if (kind === "unsupported-protocol" || kind === "invalid-response") return true;
  if (status === undefined) return code !== undefined;
  return status >= 400 && status < 500 && !CALLER_STATUSES.has(status);
}

/** Whether a refusal may be that of a server with sessions, which has not run the request. */
export function mayMissSession(failure: unknown): boolean {
  if (!(failure instanceof McpRuntimeError)) return false;
  return NO_SESSION_STATUSES.has(failure.status) && !MODERN_REFUSALS.has(failure.code);
}
