import { McpClient } from "../../client/mcp-client.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import { SILENT_LOGGER } from "../terminal/silent-logger.js";

const MOST_MS = 3_000;

/** A client that tries once, not for long, and without a word: for finding out, not for work. */
export function createProbe(name: string, definition: ServerDefinition, mostMs = MOST_MS): McpClient {
  const timeouts = { connectMs: mostMs, requestMs: mostMs, totalMs: 2 * mostMs };
  const server = { ...definition, name, timeouts, retry: false, breaker: false };
  return new McpClient(server as ConstructorParameters<typeof McpClient>[0], { logger: SILENT_LOGGER });
}

/** Whether a handshake works. */
export async function isAnswering(
  name: string,
  definition: ServerDefinition,
  { signal, mostMs }: { readonly signal: AbortSignal; readonly mostMs?: number },
): Promise<boolean> {
  const probe = createProbe(name, definition, mostMs);
  try {
    await probe.ensureSession({ signal });
    return true;
  } catch {
    return false;
  } finally {
    await probe.close();
  }
}
