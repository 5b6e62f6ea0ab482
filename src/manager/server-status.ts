import type { CatalogEvents } from "../catalog/catalog-events.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { BreakerState } from "../client/policies/circuit-breaker.js";
import { createChannels } from "../telemetry/event-channels.js";

/**
 * The connection state of a server.
 * - `idle`: not used yet; the first use connects it
 * - `connecting`, `connected`
 * - `reconnecting`: the connection was lost and is being restored automatically
 * - `failed`: could not be connected, or lost its connection too often; a call or `reconnect()` tries again
 * - `disconnected`: by `disconnect()` or `close()`; not used until connected again
 */
export type ServerState = "idle" | "connecting" | "connected" | "reconnecting" | "failed" | "disconnected";

/** The state of one server. */
export interface ServerStatus {
  readonly state: ServerState;
  /** When the state was entered (Unix time in milliseconds). */
  readonly since: number;
  /** The number of known tools. */
  readonly tools: number;
  /** Why the server failed or is being reconnected. */
  readonly error?: McpRuntimeError | undefined;
  /** The state of the circuit breaker; `undefined` with `circuitBreaker: false`. */
  readonly breaker: BreakerState | undefined;
  /** The latency of the last response. */
  readonly latencyMs: number | undefined;
}

/** Events of `McpServerManager`. */
export interface ServerManagerEvents extends CatalogEvents {
  /** A server entered another state. */
  serverChanged: {
    readonly server: string;
    readonly state: ServerState;
    readonly error: McpRuntimeError | undefined;
  };
  /** The known tools of a server changed: it connected late, changed its tools or was removed. */
  toolsChanged: { readonly server: string };
}

/** Diagnostics channels: every event is also published on one. */
export const MANAGER_CHANNELS = createChannels<ServerManagerEvents>([
  "serverChanged",
  "toolsChanged",
  "catalogRead",
  "toolsListed",
  "pinMismatch",
  "driftChecked",
]);

export const MANAGER_EVENTS: readonly string[] = Object.keys(MANAGER_CHANNELS).toSorted();

export function isManagerEvent(name: string): name is keyof ServerManagerEvents {
  return MANAGER_EVENTS.includes(name);
}
