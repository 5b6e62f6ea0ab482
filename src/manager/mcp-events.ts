import { CLIENT_CHANNELS, type SpokenByServer } from "../client/client-events.js";
import type { McpClientEvents } from "../client/mcp-client-events.js";
import { checkListener } from "../telemetry/assert-listener.js";
import { listenToChannel } from "../telemetry/event-channels.js";
import { MANAGER_CHANNELS, type ServerManagerEvents } from "./server-status.js";

/** The events of all clients and servers of this process, as they are told on its channels. */
export type McpEvents = Omit<McpClientEvents, SpokenByServer> & ServerManagerEvents;

/** The events, by name. Each has a channel of `node:diagnostics_channel`: `langchain-mcp-runtime:<event>`. */
export const MCP_EVENTS = Object.freeze(
  Object.keys({ ...CLIENT_CHANNELS, ...MANAGER_CHANNELS }).toSorted() as (keyof McpEvents)[],
);

/** Listens to an event of all clients and servers in this process; the function that comes back stops. */
export function onMcpEvent<Name extends keyof McpEvents>(
  name: Name,
  listener: (event: McpEvents[Name]) => void,
): () => void {
  checkListener(name, listener, MCP_EVENTS);
  return listenToChannel(name, (message) => listener(message as McpEvents[Name]));
}
