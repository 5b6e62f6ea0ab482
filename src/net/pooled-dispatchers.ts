import { Pool, type Dispatcher } from "undici";
import type { HttpConnector } from "./http-connector.js";
import type { ResponseHeaders } from "./http-request.js";
import type { HttpConnections, HttpWay } from "./http-pool.js";
import { IdleSockets } from "./idle-socket-reaper.js";

interface OwnConnectionsOptions {
  readonly origin: string;
  readonly sockets: number;
  readonly connector: HttpConnector;
  /** Milliseconds that only ever grow. */
  readonly now?: () => number;
}

/** Longer than undici's 4 s; a server that closes earlier says so in its `Keep-Alive` header. */
const KEEP_ALIVE_MS = 30_000;
const ASIDE_SOCKETS = 8;

/** Connections that we make and end ourselves. */
export class OwnConnections implements HttpConnections {
  readonly #options: OwnConnectionsOptions;
  readonly #idle: IdleSockets;
  readonly #calls: Pool;
  #asides: Pool | undefined;
  #streams: Pool | undefined;

  constructor(options: OwnConnectionsOptions) {
    const { now = () => performance.now() } = options;
    this.#options = options;
    this.#idle = new IdleSockets({ keepAliveMs: KEEP_ALIVE_MS, now });
    this.#calls = this.#createPool(options.sockets);
  }

  dispatcherFor(way: HttpWay): Dispatcher {
    this.#idle.endStale();
    switch (way) {
      case "call":
        return this.#calls;
      case "aside":
        return this.#asidePool();
      case "stream":
        return (this.#streams ??= this.#createPool(null));
    }
  }

  heard(headers: ResponseHeaders): void {
    this.#idle.heard(headers);
  }

  async close(): Promise<void> {
    const closed = Promise.all([this.#calls.destroy(), this.#asides?.destroy(), this.#streams?.destroy()]);
    await this.#options.connector.close();
    await closed;
  }

  /** The calls' own sockets while no call needs them, so that a handshake opens no second connection. */
  #asidePool(): Dispatcher {
    const { running, queued, pending } = this.#calls.stats;
    if (running + queued + pending === 0) return this.#calls;
    return (this.#asides ??= this.#createPool(ASIDE_SOCKETS));
  }

  #createPool(connections: number | null): Pool {
    return new Pool(this.#options.origin, {
      connections,
      factory: this.#idle.createClient,
      pipelining: 1,
      // Deadlines are the client's: a slow answer is not an error of the connection.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: this.#options.connector.connect,
    });
  }
}
