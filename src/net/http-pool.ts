import type { HttpRequestHandler, HttpRequest, RequestDispatcher, ResponseHeaders } from "./http-request.js";
import { QuietTime } from "./stale-socket-guard.js";

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
  /** How an answer of the server begins. */
  heard?(headers: ResponseHeaders): void;
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
  readonly #quiet = new QuietTime();

  constructor({ origin, connections }: HttpPoolOptions) {
    this.origin = origin;
    this.#connections = connections;
  }

  send(way: HttpWay, exchange: HttpRequestHandler, request: HttpRequest): void {
    const start = () => exchange.start(this.#connections.dispatcherFor(way), request);
    if (way === "call") this.#quiet.whenKnown(start);
    else start();
  }

  /** The server has answered something, which begins so. */
  heard(headers: ResponseHeaders): void {
    this.#quiet.heard();
    this.#connections.heard?.(headers);
  }

  /** Ends every connection: in use, idle, and still being made. */
  async close(): Promise<void> {
    await this.#connections.close();
  }
}
