import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import { buildConnector, Pool, type Dispatcher } from "undici";
import type { HttpExchange } from "./http-exchange.js";

export interface HttpPoolOptions {
  readonly origin: string;
  readonly sockets: number;
  readonly connectMs: number;
}

/**
 * How a request uses the pool.
 * - `call`: it expects an answer, and waits for a socket if all are taken
 * - `aside`: a notification, an answer to the server, a goodbye. It must get through while calls hold
 *   every socket: some calls end only after it has
 * - `stream`: it stays open, and would hold a socket that calls need
 */
export type HttpWay = "call" | "aside" | "stream";

/** Longer than undici's 4 s; a server that closes earlier says so in its `Keep-Alive` header. */
const KEEP_ALIVE_MS = 30_000;
const ASIDE_SOCKETS = 8;

/** The connections to one server: made once for a client, kept across all its sessions. */
export class HttpPool {
  readonly origin: string;
  readonly #options: HttpPoolOptions;
  readonly #connecting = new Set<Socket>();
  readonly #calls: Pool;
  #asides: Pool | undefined;
  #streams: Pool | undefined;
  #isFresh = false;

  constructor(options: HttpPoolOptions) {
    this.origin = options.origin;
    this.#options = options;
    this.#calls = this.#createPool(options.sockets);
  }

  send(way: HttpWay, exchange: HttpExchange, request: Dispatcher.DispatchOptions): void {
    if (way === "call") this.#sendCall(exchange, request);
    else exchange.start(way === "stream" ? this.#streamPool() : this.#asidePool(), request);
  }

  /** The server has answered something; what we know of its sockets is fresh until this turn ends. */
  heard(): void {
    if (this.#isFresh) return;
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
  }

  /** Ends every connection: in use, idle, and still being made. */
  async close(): Promise<void> {
    const closed = Promise.all([this.#calls.destroy(), this.#asides?.destroy(), this.#streams?.destroy()]);
    for (const socket of this.#connecting) socket.destroy();
    await closed;
  }

  /**
   * Unless the server has just been heard, the event loop is given one turn first, in which idle
   * sockets report that the server has closed them: a request written to a dead socket is lost, and
   * nobody can tell whether it was run.
   */
  #sendCall(exchange: HttpExchange, request: Dispatcher.DispatchOptions): void {
    if (this.#isFresh) exchange.start(this.#calls, request);
    else setImmediate(() => setImmediate(() => exchange.start(this.#calls, request)));
  }

  /** The calls' own sockets while no call needs them, so that a handshake opens no second connection. */
  #asidePool(): Dispatcher {
    const { running, queued, pending } = this.#calls.stats;
    if (running + queued + pending === 0) return this.#calls;
    this.#asides ??= this.#createPool(ASIDE_SOCKETS);
    return this.#asides;
  }

  #streamPool(): Dispatcher {
    this.#streams ??= this.#createPool(null);
    return this.#streams;
  }

  #createPool(connections: number | null): Pool {
    return new Pool(this.#options.origin, {
      connections,
      pipelining: 1,
      // Deadlines are the client's: a slow answer is not an error of the connection.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: this.#createConnector(),
    });
  }

  /** Remembers sockets while they connect: destroying a pool does not end those. */
  #createConnector(): buildConnector.connector {
    const connect = buildConnector({ timeout: this.#options.connectMs });
    return (options, callback) => {
      // undici gives the socket back at once, which its types do not say.
      const socket = connect(options, (...result) => {
        this.#connecting.delete(socket);
        callback(...result);
      }) as unknown as Socket;
      this.#connecting.add(socket);
    };
  }
}
