import { channel, type Channel, subscribe, unsubscribe } from "node:diagnostics_channel";

/** The prefix of all channel names: `langchain-mcp-runtime:requestEnded`. */
const PREFIX = "langchain-mcp-runtime:";

/** Diagnostics channels by event name. */
export type EventChannels<Events extends object> = Partial<Record<keyof Events, Channel>>;

/** Hold the channels while publishing: a collected channel does not see later subscribers. */
export function createChannels<Events extends object>(names: readonly (keyof Events & string)[]) {
  return Object.fromEntries(
    names.map((name) => [name, channel(`${PREFIX}${name}`)]),
  ) as EventChannels<Events>;
}

/**
 * Subscribes to a channel. Returns the unsubscribe function. Node terminates the process when a channel
 * subscriber throws; here the error becomes a process warning.
 */
export function subscribeSafely(name: string, listener: (message: unknown) => unknown): () => void {
  const warnListenerFailed = (error: unknown) =>
    process.emitWarning(`A listener to ${PREFIX}${name} failed: ${String(error)}`, "McpRuntimeWarning");
  const onMessage = (message: unknown) => {
    try {
      const result = listener(message);
      if (result instanceof Promise) result.catch(warnListenerFailed);
    } catch (error) {
      warnListenerFailed(error);
    }
  };
  subscribe(`${PREFIX}${name}`, onMessage);
  return () => void unsubscribe(`${PREFIX}${name}`, onMessage);
}
