import { parseServer } from "../parse-server.js";
import type { ServerDefinition } from "../server-definition.js";

/**
 * Tells whether two servers are one under two names: where it is, and everything it is reached with,
 * since other credentials may be another account. Kept in memory only: it holds secrets. Throws kind
 * `definition` when the definition is wrong.
 */
export function endpointOf(name: string, definition: ServerDefinition): string {
  const { address } = parseServer(name, definition);
  if ("url" in address) {
    const headers = Object.entries(address.headers).map(([key, value]) => [key.toLowerCase(), value]);
    // Of HTTP and SSE only one can be right about an address.
    return JSON.stringify([address.url.href, sorted(headers), inOrder(address.auth)]);
  }
  if (address.kind !== "stdio") return JSON.stringify(address);
  const { command, args, env, cwd } = address;
  return JSON.stringify([command, args, sorted(Object.entries(env)), cwd]);
}

/** A grant, as it stands in a file: however its keys were ordered, it is the same. */
function inOrder(value: unknown): unknown {
  if (value instanceof URL) return value.href;
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, inOrder(inner)]);
}

function sorted(entries: string[][]): string[][] {
  return entries.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
}
