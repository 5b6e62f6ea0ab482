import { isPlainObject } from "../../json/json.js";

/**
 * How servers that answer 400 say that they do not know the session. The only place where a message
 * is read to decide something: these servers give no other sign.
 */
const LOST_SESSION_TEXTS: readonly RegExp[] = [
  /no valid session/i, // SDK examples up to 1.31, server-everything
  /server not initiali[sz]ed/i, // one bare SDK transport after a restart
  /session(?:[ -]?id)?(?: header)?\b.{0,40}\b(?:not found|unknown|invalid|expired|missing|required|terminated|closed|not initiali[sz]ed)/i,
  /\bno\b.{0,20}\bfound for session/i, // servers on the SDK's legacy SSE transport
  /\b(?:unknown|invalid|expired|missing|terminated)\b.{0,20}\bsession/i,
];

/** Whether the text of an answer says "I do not know this session". Only some servers need to be asked. */
export function deniesSession(text: string): boolean {
  return LOST_SESSION_TEXTS.some((pattern) => pattern.test(text));
}

/** The JSON-RPC error in a response body, if there is one. */
export function rpcErrorOf(body: string): { readonly code: number; readonly message: string } | undefined {
  const message = parseJson(body);
  const error = isPlainObject(message) ? message["error"] : undefined;
  if (!isPlainObject(error)) return undefined;
  const { code, message: text } = error;
  return typeof code === "number" && typeof text === "string" ? { code, message: text } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
