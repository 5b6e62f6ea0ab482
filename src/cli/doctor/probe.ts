import { randomUUID } from "node:crypto";
import { McpClient } from "../../client/mcp-client.js";
import { getAddressOrigin, withAddressOrigin } from "../../config/address-policy.js";
import type { HttpServerDefinition, ServerDefinition } from "../../config/server-definition.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { toObject } from "../../json/json.js";
import { memoryStore } from "../../stores/drivers/memory-store.js";
import { createFinding, type Finding, type FindingCode, NO_ACTION } from "../report/finding.js";
import { settle } from "../servers/connect-servers.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { SILENT_LOGGER } from "../terminal.js";

const MAX_PROBE_MS = 3_000;

/** Creates a client with a short timeout, without retries and without logging. */
function createProbe(name: string, definition: ServerDefinition, maxMs = MAX_PROBE_MS): McpClient {
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
export const MCP_PATHS = ["/mcp", "/sse", "/mcp/", "/", "/api/mcp", "/v1/mcp"];

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
  const addresses = MCP_PATHS.filter((path) => path !== pathname).map((path) => `${origin}${path}`);
  const results = await Promise.all(
    addresses.map((url) => {
      const bare: HttpServerDefinition = { url, ...(tls?.ca === undefined ? {} : { tls: { ca: tls.ca } }) };
      return canHandshake(name, withAddressOrigin(bare, getAddressOrigin(definition)), { signal });
    }),
  );
  return addresses.find((_, index) => results[index]);
}

const RECOVERY_HINT =
  "Update the server. If it reports a lost session in a non-standard way, use classify in its definition.";

/**
 * Checks whether a server works after it lost a session: lists its tools with an unknown session id, as after a
 * restart. Opens and ends two sessions, calls no tool and does not touch other sessions. Applies to Streamable HTTP
 * only.
 */
export async function checkRecovery(
  { name, kind, definition, redactor }: SelectedServer,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (kind !== "http") return undefined;
  const toResult = (code: FindingCode, text: string, hint = NO_ACTION): Finding =>
    createFinding(code, { server: name, text: redactor.redact(text), hint });
  const toFailure = (summary: string, { message }: McpRuntimeError): Finding =>
    toResult("session-not-recovered", `${summary}: ${message}`, RECOVERY_HINT);
  await using store = memoryStore();
  const probeDefinition = {
    ...definition,
    // A session store requires an identity; this store is used only here.
    identity: () => "doctor",
    session: { store, terminateOnClose: true },
  } as ServerDefinition;
  const [first, second] = [createProbe(name, probeDefinition), createProbe(name, probeDefinition)];
  try {
    const { error: rejection } = await settle(first.ensureSession({ signal }), signal);
    if (rejection !== undefined) return toFailure("The server rejects a second session", rejection);
    if (first.sessions().every(({ id }) => id === undefined))
      return toResult("session-none", "The server has no sessions, so none can be lost.");
    // The second client resumes a session that the server never issued.
    for (const key of await store.list(""))
      await store.set(key, { ...toObject(await store.get(key)), id: randomUUID() });
    let losses = 0;
    second.on("sessionLost", () => (losses += 1));
    const { error } = await settle(second.listTools({ signal }), signal);
    if (error !== undefined)
      return toFailure("The server did not recover after an unknown session id", error);
    return losses === 0
      ? toResult("session-none", "The server accepts any session id, so none can be lost.")
      : toResult("session-recovered", "A lost session was replaced by a new one.");
  } finally {
    await Promise.allSettled([first.close(), second.close()]);
  }
}
