import { isPlainObject, tryParseJson } from "../../json/json.js";

/**
 * Texts by which servers that return 400 report an unknown session. This is the only place where a
 * decision depends on the text of a message: these servers give no other indication.
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
export function findRpcError(body: string): { readonly code: number; readonly message: string } | undefined {
  const message = tryParseJson(body);
  const error = isPlainObject(message) ? message["error"] : undefined;
  if (!isPlainObject(error)) return undefined;
  const { code, message: text } = error;
  return typeof code === "number" && typeof text === "string" ? { code, message: text } : undefined;
}
