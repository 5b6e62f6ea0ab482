import type { CatalogEvents } from "../catalog/catalog-events.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { BreakerState } from "../client/policies/circuit-breaker.js";
import { openChannels } from "../telemetry/event-channels.js";

/**
 * - `idle`: not asked for yet; the first use connects it
 * - `connecting`, `connected`: as it says
 * - `reconnecting`: its connection was lost, and is tried again by itself
 * - `failed`: it could not be reached, or is left alone after too many losses; a call or `reconnect()` tries again
 * - `disconnected`: by `disconnect` or `close`; nothing is sent to it
 */
export type ServerState = "idle" | "connecting" | "connected" | "reconnecting" | "failed" | "disconnected";

export interface ServerStatus {
  readonly state: ServerState;
  /** When it came into this state, in milliseconds since 1970. */
  readonly since: number;
  /** How many tools are known of it. */
  readonly tools: number;
  /** Why it failed or is being reconnected. */
  readonly error?: McpRuntimeError | undefined;
  /** `undefined` with `breaker: false`. */
  readonly breaker: BreakerState | undefined;
  /** How long its last answer took. */
  readonly latencyMs: number | undefined;
}

export interface ServerManagerEvents extends CatalogEvents {
  /** A server came into another state. */
  serverChanged: {
    readonly server: string;
    readonly state: ServerState;
    readonly error: McpRuntimeError | undefined;
  };
  /** Other tools are known of a server now, or none: it came late, changed them, or went. */
  toolsChanged: { readonly server: string };
}

/** Events that are also told on a channel of the process: all of them. */
export const MANAGER_CHANNELS = openChannels<ServerManagerEvents>([
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
