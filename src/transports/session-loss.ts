import { isJsonObject } from "../definitions/json.js";

/**
 * How servers that answer 400 say that they do not know the session. The only place where a message
 * is read to decide something: these servers give no other sign.
 */
const LOST_SESSION_TEXTS: readonly RegExp[] = [
  /no valid session/i, // SDK examples up to 1.31, server-everything
  /server not initiali[sz]ed/i, // one bare SDK transport after a restart
  /session(?:[ -]?id)?(?: header)?\b.{0,40}\b(?:not found|unknown|invalid|expired|missing|required|terminated|closed|not initiali[sz]ed)/i,
  /\b(?:unknown|invalid|expired|missing|terminated)\b.{0,20}\bsession/i,
];

const METHOD_NOT_FOUND = -32_601;

/**
 * Whether an HTTP answer means "I do not know this session", so that the request was not run. Only
 * asked for requests that carried a session id. A 404 with -32601 is about the method.
 */
export function isSessionLoss(status: number, body: string): boolean {
  if (status === 404) return rpcErrorOf(body)?.code !== METHOD_NOT_FOUND;
  return status === 400 && LOST_SESSION_TEXTS.some((text) => text.test(rpcErrorOf(body)?.message ?? body));
}

/** The JSON-RPC error in a response body, if there is one. */
export function rpcErrorOf(body: string): { readonly code: number; readonly message: string } | undefined {
  const message = parseJson(body);
  const error = isJsonObject(message) ? message["error"] : undefined;
  if (!isJsonObject(error)) return undefined;
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
