import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

type StoredMessage = Parameters<EventStore["storeEvent"]>[1];

/** Numbers what a server sends, so that a stream that broke off can be resumed. */
export class MemoryEventStore implements EventStore {
  readonly #events: { readonly streamId: string; readonly message: StoredMessage }[] = [];

  async storeEvent(streamId: string, message: StoredMessage): Promise<string> {
    this.#events.push({ streamId, message });
    return `event-${this.#events.length}`;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#events[positionOf(eventId)]?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: StoredMessage) => Promise<void> },
  ): Promise<string> {
    const last = positionOf(lastEventId);
    const streamId = this.#events[last]?.streamId ?? "";
    for (const [position, event] of this.#events.entries()) {
      // A priming event has nothing to say a second time.
      const isMissed = position > last && event.streamId === streamId && "jsonrpc" in event.message;
      if (isMissed) await send(`event-${position + 1}`, event.message);
    }
    return streamId;
  }
}

function positionOf(eventId: string): number {
  return Number(eventId.replace("event-", "")) - 1;
}
