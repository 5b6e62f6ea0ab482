import { CLIENT_CHANNELS, type ServerInitiatedEvent, type McpClientEvents } from "../client/client-events.js";
import { assertListener, subscribeSafely, createChannels } from "../telemetry/typed-emitter.js";
import type { CatalogEvents } from "../catalog/catalog-events.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ApprovalDecided } from "../tools/tool-run.js";

/**
 * The connection state of a server.
 * - `idle`: not used yet; the first use connects it
 * - `connecting`, `connected`
 * - `reconnecting`: the connection was lost and is being restored automatically
 * - `failed`: could not be connected, or lost its connection too often; a call or `reconnect()` tries again
 * - `disconnected`: by `disconnect()` or `close()`; not used until connected again
 */
export type ServerState = "idle" | "connecting" | "connected" | "reconnecting" | "failed" | "disconnected";

/** Events of `McpServerManager`. */
export interface ServerManagerEvents extends CatalogEvents {
  /** A server entered another state. */
  serverChanged: {
    readonly server: string;
    /** The new state. */
    readonly state: ServerState;
    /** Why the server failed or is being reconnected. */
    readonly error: McpRuntimeError | undefined;
  };
  /** A call that needs approval was approved, edited, rejected or denied. */
  approvalDecided: ApprovalDecided;
  /** The known tools of a server changed: it connected late, changed its tools or was removed. */
  toolsChanged: { readonly server: string };
}

/** Diagnostics channels: every event is also published on one. */
export const MANAGER_CHANNELS = createChannels<ServerManagerEvents>([
  "serverChanged",
  "approvalDecided",
  "toolsChanged",
  "catalogRead",
  "toolsListed",
  "pinMismatch",
  "driftChecked",
]);

/** The names of the manager's events, sorted. */
export const MANAGER_EVENTS: readonly string[] = Object.keys(MANAGER_CHANNELS).toSorted();

/** Whether the manager emits this event; the others are emitted by clients. */
export function isManagerEvent(name: string): name is keyof ServerManagerEvents {
  return MANAGER_EVENTS.includes(name);
}

/** The events of all clients and servers in this process, by name. */
export type McpEvents = Omit<McpClientEvents, ServerInitiatedEvent> & ServerManagerEvents;

/** The names of all events. Each has a `node:diagnostics_channel` named `langchain-mcp-runtime:<event>`. */
export const MCP_EVENTS = Object.freeze(
  Object.keys({ ...CLIENT_CHANNELS, ...MANAGER_CHANNELS }).toSorted() as (keyof McpEvents)[],
);

/**
 * Subscribes to an event of all clients and servers in this process. Returns a function that unsubscribes.
 *
 * @throws McpRuntimeError kind `invalid-config` for an unknown event or a listener that is not a function
 * @example
 * ```ts
 * const unsubscribe = onMcpEvent("toolsListed", ({ server, tools }) => console.log(server, tools));
 * ```
 */
export function onMcpEvent<Name extends keyof McpEvents>(
  name: Name,
  listener: (event: McpEvents[Name]) => void,
): () => void {
  assertListener(name, listener, MCP_EVENTS);
  return subscribeSafely(name, (message) => listener(message as McpEvents[Name]));
}
