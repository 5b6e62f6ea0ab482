import { channel, type Channel, subscribe, unsubscribe } from "node:diagnostics_channel";

/** What the names of all channels begin with: `langchain-mcp-runtime:requestEnded`. */
const PREFIX = "langchain-mcp-runtime:";

/** Channels of the process for some events, by the names of the events. */
export type EventChannels<Events extends object> = Partial<Record<keyof Events, Channel>>;

/** Kept for as long as they may be published to: one that nobody holds does not see who comes later. */
export function openChannels<Events extends object>(names: readonly (keyof Events & string)[]) {
  return Object.fromEntries(
    names.map((name) => [name, channel(`${PREFIX}${name}`)]),
  ) as EventChannels<Events>;
}

/**
 * Listens to a channel; the function that comes back stops. Node ends the process when a listener to
 * a channel throws: here it is a warning of the process.
 */
export function listenToChannel(name: string, listener: (message: unknown) => unknown): () => void {
  const complain = (error: unknown) =>
    process.emitWarning(`A listener to ${PREFIX}${name} failed: ${String(error)}`, "McpRuntimeWarning");
  const hear = (message: unknown) => {
    try {
      const returned = listener(message);
      if (returned instanceof Promise) returned.catch(complain);
    } catch (error) {
      complain(error);
    }
  };
  subscribe(`${PREFIX}${name}`, hear);
  return () => void unsubscribe(`${PREFIX}${name}`, hear);
}
