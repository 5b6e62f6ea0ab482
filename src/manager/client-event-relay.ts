import type { McpClientEvents } from "../client/mcp-client-events.js";
import type { McpClient } from "../client/mcp-client.js";

type Attach = (client: McpClient) => () => void;

/** Listens to the clients of all servers, also of those that come later. */
export class ClientRelay {
  readonly #clients = new Set<McpClient>();
  readonly #listeners = new Map<Attach, Map<McpClient, () => void>>();

  add(client: McpClient): void {
    this.#clients.add(client);
    for (const [attach, stops] of this.#listeners) stops.set(client, attach(client));
  }

  remove(client: McpClient): void {
    this.#clients.delete(client);
    for (const stops of this.#listeners.values()) {
      stops.get(client)?.();
      stops.delete(client);
    }
  }

  /** The function that comes back stops. */
  on<Name extends keyof McpClientEvents>(
    event: Name,
    listener: (server: string, data: McpClientEvents[Name]) => void,
  ): () => void {
    const attach: Attach = (client) => client.on(event, (data) => listener(client.name, data));
    const stops = new Map([...this.#clients].map((client) => [client, attach(client)]));
    this.#listeners.set(attach, stops);
    return () => {
      this.#listeners.delete(attach);
      for (const stop of stops.values()) stop();
    };
  }
}
