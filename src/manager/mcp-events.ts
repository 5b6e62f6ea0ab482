import { CLIENT_CHANNELS, type ServerInitiatedEvent, type McpClientEvents } from "../client/client-events.js";
import { assertListener } from "../telemetry/typed-emitter.js";
import { subscribeSafely } from "../telemetry/event-channels.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./server-status.js";

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
