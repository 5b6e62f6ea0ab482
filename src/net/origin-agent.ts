import { Agent, type Dispatcher, Pool } from "undici";
import type { HttpConnector } from "./http-connector.js";

/** Connections of our own to whatever origin is asked for. */
export class HttpAgent {
  readonly dispatcher: Dispatcher;
  readonly #connectors = new Map<string, HttpConnector>();

  constructor(openConnector: (origin: URL) => HttpConnector) {
    const connectorTo = (origin: URL) => {
      const connector = this.#connectors.get(origin.origin) ?? openConnector(origin);
      this.#connectors.set(origin.origin, connector);
      return connector;
    };
    this.dispatcher = new Agent({
      factory: (origin, options) =>
        new Pool(origin, { ...(options as Pool.Options), connect: connectorTo(new URL(origin)).connect }),
    });
  }

  async close(): Promise<void> {
    const closed = this.dispatcher.destroy();
    await Promise.all([...this.#connectors.values()].map((connector) => connector.close()));
    await closed;
  }
}
