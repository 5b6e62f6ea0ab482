import { randomUUID } from "node:crypto";
import type { McpClient } from "../../client/mcp-client.js";
import { isPlainObject } from "../../json/json.js";
import type { ServerDefinition } from "../../config/server-definition.js";
import type { SessionStore } from "../../config/session-store.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { ChosenServer } from "../servers/selected-server.js";
import { createFinding, type Finding, NOTHING_TO_DO } from "../findings/finding.js";
import { createProbe } from "./probe.js";

/** Sessions that somebody left, and that can be spoiled. */
class SpoiltStore implements SessionStore {
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

  /** From now on the server is asked with a session id that it has never given out. */
  spoil(): void {
    for (const [key, entry] of this.#entries)
      if (isPlainObject(entry)) this.#entries.set(key, { ...entry, id: randomUUID() });
  }
}

/**
 * Whether a server's tools come back after it has forgotten a session: it is asked for its tools with
 * a session id that it does not know, as after a restart. Two sessions are opened and ended, no tool
 * is called, and sessions of others are left alone. Only Streamable HTTP has sessions that can be lost so.
 */
export async function checkRecovery(server: ChosenServer, signal: AbortSignal): Promise<Finding | undefined> {
  if (server.kind !== "http") return undefined;
  const store = new SpoiltStore();
  const definition = {
    ...server.definition,
    // Whose sessions a store holds has to be told; this one is nobody else's.
    identity: () => "doctor",
    session: { store, terminateOnClose: true },
  } as ServerDefinition;
  const [first, second] = [createProbe(server.name, definition), createProbe(server.name, definition)];
  try {
    const refusal = await failureOf(first.ensureSession({ signal }), signal);
    if (refusal !== undefined) return notRecovered(server, "It refuses a second session", refusal);
    if (first.sessions().every(({ id }) => id === undefined))
      return found("session-none", server, "It keeps no sessions: none can be lost.", NOTHING_TO_DO);
    store.spoil();
    return await afterLoss(second, server, signal);
  } finally {
    await Promise.allSettled([first.close(), second.close()]);
  }
}

async function afterLoss(client: McpClient, server: ChosenServer, signal: AbortSignal): Promise<Finding> {
  let losses = 0;
  client.on("sessionLost", () => (losses += 1));
  const failure = await failureOf(client.listTools({ signal }), signal);
  if (failure !== undefined)
    return notRecovered(server, "It did not come back after an unknown session id", failure);
  return losses === 0
    ? found("session-none", server, "It takes any session id: none can be lost.", NOTHING_TO_DO)
    : found("session-recovered", server, "A lost session was replaced by a new one.", NOTHING_TO_DO);
}

async function failureOf(work: Promise<unknown>, signal: AbortSignal): Promise<McpRuntimeError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof McpRuntimeError && !signal.aborted) return error;
    throw error;
  }
}

function notRecovered(server: ChosenServer, what: string, { message }: McpRuntimeError): Finding {
  const next =
    "Update the server. If it tells a lost session in a way of its own, classify in its definition can say so.";
  return found("session-not-recovered", server, `${what}: ${message}`, next);
}

function found(code: Finding["code"], server: ChosenServer, text: string, next: string): Finding {
  return createFinding(code, { server: server.name, text: server.redactor.text(text), next });
}
