import { randomUUID } from "node:crypto";
import type { McpClient } from "../../client/mcp-client.js";
import { isPlainObject } from "../../json/json.js";
import type { ServerDefinition, SessionStore } from "../../config/server-definition.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { createFinding, type Finding, NO_ACTION } from "../findings/finding.js";
import { createProbe } from "./probe.js";

/** A session store whose session ids can be replaced with unknown ones. */
class CorruptingStore implements SessionStore {
  readonly #entries = new Map<string, unknown>();

  async get(key: string): Promise<unknown> {
    return this.#entries.get(key);
  }

  async set(key: string, value: unknown): Promise<void> {
    this.#entries.set(key, value);
  }

  async delete(key: string): Promise<void> {
    this.#entries.delete(key);
  }

  /** Replaces all session ids with ids that the server never issued. */
  corruptSessionIds(): void {
    for (const [key, entry] of this.#entries)
      if (isPlainObject(entry)) this.#entries.set(key, { ...entry, id: randomUUID() });
  }
}

/**
 * Checks whether a server works after it lost a session: lists its tools with an unknown session id, as after a
 * restart. Opens and ends two sessions, calls no tool and does not touch other sessions. Applies to Streamable HTTP
 * only.
 */
export async function checkRecovery(
  server: SelectedServer,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (server.kind !== "http") return undefined;
  const store = new CorruptingStore();
  const definition = {
    ...server.definition,
    // A session store requires an identity; this store is used only here.
    identity: () => "doctor",
    session: { store, terminateOnClose: true },
  } as ServerDefinition;
  const [first, second] = [createProbe(server.name, definition), createProbe(server.name, definition)];
  try {
    const failure = await catchRuntimeError(first.ensureSession({ signal }), signal);
    if (failure !== undefined) return toFailedResult(server, "The server rejects a second session", failure);
    if (first.sessions().every(({ id }) => id === undefined))
      return createResult(
        "session-none",
        server,
        "The server has no sessions, so none can be lost.",
        NO_ACTION,
      );
    store.corruptSessionIds();
    return await checkAfterLoss(second, server, signal);
  } finally {
    await Promise.allSettled([first.close(), second.close()]);
  }
}

async function checkAfterLoss(
  client: McpClient,
  server: SelectedServer,
  signal: AbortSignal,
): Promise<Finding> {
  let losses = 0;
  client.on("sessionLost", () => (losses += 1));
  const failure = await catchRuntimeError(client.listTools({ signal }), signal);
  if (failure !== undefined)
    return toFailedResult(server, "The server did not recover after an unknown session id", failure);
  return losses === 0
    ? createResult(
        "session-none",
        server,
        "The server accepts any session id, so none can be lost.",
        NO_ACTION,
      )
    : createResult("session-recovered", server, "A lost session was replaced by a new one.", NO_ACTION);
}

async function catchRuntimeError(
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<McpRuntimeError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof McpRuntimeError && !signal.aborted) return error;
    throw error;
  }
}

function toFailedResult(server: SelectedServer, summary: string, { message }: McpRuntimeError): Finding {
  const hint =
    "Update the server. If it reports a lost session in a non-standard way, use classify in its definition.";
  return createResult("session-not-recovered", server, `${summary}: ${message}`, hint);
}

function createResult(code: Finding["code"], server: SelectedServer, text: string, hint: string): Finding {
  return createFinding(code, { server: server.name, text: server.redactor.redact(text), hint });
}
