import { toBasicAuth } from "../../config/collect-secrets.js";

/**
 * Headers that are set by the protocol or the HTTP client. Configured headers of these names are omitted:
 * a fixed `mcp-session-id` would outlive its session, an `accept` without event streams breaks servers,
 * and a compressed response could not be read.
 */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
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

/** Returns the configured headers without reserved ones; userinfo in the URL becomes basic authentication. */
export function toRequestHeaders(
  headers: Readonly<Record<string, string>>,
  url: URL,
): Record<string, string> {
  const credentials = toBasicAuth(url);
  const basic = credentials === undefined ? {} : { authorization: `Basic ${credentials}` };
  return { ...basic, ...omitReserved(headers) };
}

/** Returns headers with lower-case names, so that two spellings of one name are the same header. */
export function omitReserved(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(entries.filter(([name]) => !RESERVED_HEADERS.has(name)));
}

/** Returns the names of configured headers that are not sent. */
export function reservedHeaderNames(headers: Readonly<Record<string, string>>): string[] {
  return Object.keys(headers).filter((name) => RESERVED_HEADERS.has(name.toLowerCase()));
}
