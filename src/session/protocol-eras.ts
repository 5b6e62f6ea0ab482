import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { JsonObject } from "../json/json.js";
import {
  AUTH_AND_RATE_STATUSES,
  META_KEYS,
  MODERN_VERSION,
  PROTOCOL_CODES,
  TASKS_EXTENSION,
} from "../transports/http/modern-era.js";
import type { OpenSessionOptions } from "./open-session.js";
import { toCapabilities } from "./server-requests/server-request-handler.js";

/** The protocol revisions with sessions, newest first. */
export const LEGACY_VERSIONS: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

/** Replaces `initialize` in the modern era, which has no sessions. */
export const DISCOVER_METHOD = "server/discover";

/** HTTP statuses with which legacy servers reject a request without a session id. */
const NO_SESSION_STATUSES: ReadonlySet<unknown> = new Set([400, 404, 405]);

/** Returns the `_meta` entries that every request of the modern era carries. */
export function toEnvelope({ config, clientInfo }: OpenSessionOptions): JsonObject {
  const { roots, ...capabilities } = toCapabilities(config.handlers);
  const extensions = { ...capabilities.extensions, [TASKS_EXTENSION]: {} };
  return {
    [META_KEYS.protocolVersion]: MODERN_VERSION,
    [META_KEYS.clientInfo]: clientInfo,
    [META_KEYS.clientCapabilities]: { ...capabilities, ...(roots && { roots: {} }), extensions },
  };
}

/** True when a server rejected a request because of its era, and not because of the caller or a rate limit. */
export function rejectsModernEra(failure: unknown): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  const { kind, status, code } = failure;
  if (kind === "unsupported-protocol" || kind === "invalid-response") return true;
  if (status === undefined) return code !== undefined;
  return status >= 400 && status < 500 && !AUTH_AND_RATE_STATUSES.has(status);
}

/** True when a rejection may come from a legacy server, which requires a session and executed nothing. */
export function mayRequireSession(failure: unknown): boolean {
  if (!(failure instanceof McpRuntimeError)) return false;
  // Only modern servers return these codes with an HTTP error status.
  return NO_SESSION_STATUSES.has(failure.status) && !PROTOCOL_CODES.has(failure.code);
}
