import { setImmediate } from "node:timers";
import type { HttpExchange, HttpRequest, RequestDispatcher } from "./http-exchange.js";

/**
 * How a request uses the pool.
 * - `call`: it expects an answer, and waits for a socket if all are taken
 * - `aside`: a notification, an answer to the server, a goodbye. It must get through while calls hold
 *   every socket: some calls end only after it has
 * - `stream`: it stays open, and would hold a socket that calls need
 */
export type HttpWay = "call" | "aside" | "stream";

/** Where requests of each way go. */
export interface HttpConnections {
  dispatcherFor(way: HttpWay): RequestDispatcher;
  close(): Promise<void>;
}

interface HttpPoolOptions {
  readonly origin: string;
  readonly connections: HttpConnections;
}

/** The way to one server over HTTP: made once for a client, kept across all its sessions. */
export class HttpPool {
  readonly origin: string;
  readonly #connections: HttpConnections;
  #isFresh = false;

  constructor({ origin, connections }: HttpPoolOptions) {
    this.origin = origin;
    this.#connections = connections;
  }

  send(way: HttpWay, exchange: HttpExchange, request: HttpRequest): void {
    if (way === "call") this.#sendCall(exchange, request);
    else exchange.start(this.#connections.dispatcherFor(way), request);
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
    await this.#connections.close();
  }

  /**
   * Unless the server has just been heard, the event loop is given one turn first, in which idle
   * sockets report that the server has closed them: a request written to a dead socket is lost, and
   * nobody can tell whether it was run.
   */
  #sendCall(exchange: HttpExchange, request: HttpRequest): void {
    if (this.#isFresh) exchange.start(this.#connections.dispatcherFor("call"), request);
    else {
      const later = () => exchange.start(this.#connections.dispatcherFor("call"), request);
      setImmediate(() => setImmediate(later));
    }
  }
}
