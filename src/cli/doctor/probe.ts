import { McpClient } from "../../client/mcp-client.js";
import type { ServerDefinition, HttpServerDefinition } from "../../config/server-definition.js";
import { SILENT_LOGGER } from "../terminal/loggers.js";
import type { SelectedServer } from "../servers/selected-server.js";

const MAX_PROBE_MS = 3_000;

/** Creates a client with a short timeout, without retries and without logging. */
export function createProbe(name: string, definition: ServerDefinition, maxMs = MAX_PROBE_MS): McpClient {
  const timeouts = { connectMs: maxMs, requestMs: maxMs, totalMs: 2 * maxMs };
  const overrides = { name, timeouts, retry: false, circuitBreaker: false } as const;
  return new McpClient({ ...definition, ...overrides }, { logger: SILENT_LOGGER });
}

/** Returns true if a handshake succeeds. */
export async function canHandshake(
  name: string,
  definition: ServerDefinition,
  { signal, maxMs }: { readonly signal: AbortSignal; readonly maxMs?: number },
): Promise<boolean> {
  const probe = createProbe(name, definition, maxMs);
  try {
    await probe.ensureSession({ signal });
    return true;
  } catch {
    return false;
  } finally {
    await probe.close();
  }
}

/** Common paths of MCP endpoints. */
const PATHS = ["/mcp", "/sse", "/mcp/", "/", "/api/mcp", "/v1/mcp"];

/**
 * Finds another path of the same origin that completes an MCP handshake. Sends no credentials, since another path
 * may belong to another application.
 */
export async function findMcpPath(
  { name, definition }: SelectedServer,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!("url" in definition)) return undefined;
  const { url: configuredUrl, tls } = definition as HttpServerDefinition;
  const { origin, pathname } = new URL(configuredUrl);
  const addresses = PATHS.filter((path) => path !== pathname).map((path) => `${origin}${path}`);
  const results = await Promise.all(
    addresses.map((url) => {
      const bare: HttpServerDefinition = { url, ...(tls?.ca === undefined ? {} : { tls: { ca: tls.ca } }) };
      return canHandshake(name, bare, { signal });
    }),
  );
  return addresses.find((_, index) => results[index]);
}
