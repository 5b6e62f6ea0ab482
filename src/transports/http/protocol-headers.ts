import { basicCredentials } from "../../config/basic-credentials.js";

/**
 * Headers that the protocol or the HTTP client sets itself. Configured ones of these names are left
 * out: a fixed `mcp-session-id` would outlive its session, an `accept` without event streams breaks
 * servers, and a compressed answer could not be read.
 */
const OWNED: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "keep-alive",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The configured headers that may be sent, in lower case; userinfo of the URL becomes basic auth. */
export function toSendableHeaders(
  headers: Readonly<Record<string, string>>,
  url: URL,
): Record<string, string> {
  const credentials = basicCredentials(url);
  const basic = credentials === undefined ? {} : { authorization: `Basic ${credentials}` };
  return { ...basic, ...withoutOwned(headers) };
}

/** In lower case, so that two spellings of one name are one header. */
export function withoutOwned(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(entries.filter(([name]) => !OWNED.has(name)));
}

/** Names that were configured and are not sent. */
export function ownedHeaderNames(headers: Readonly<Record<string, string>>): string[] {
  return Object.keys(headers).filter((name) => OWNED.has(name.toLowerCase()));
}
