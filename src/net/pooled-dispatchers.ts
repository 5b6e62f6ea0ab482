import type { Socket } from "node:net";
import type * as undici from "undici";
import type { HttpConnector } from "./http-connector.js";
import type { DispatcherProvider, RequestLane, ResponseHeaders } from "./http-request.js";
import { IdleSocketReaper, KEEP_ALIVE_MS } from "./idle-socket-reaper.js";
import { Pool } from "./undici-dispatchers.js";

interface PooledDispatchersOptions {
  readonly origin: string;
  readonly sockets: number;
  readonly connector: HttpConnector;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

const NOTIFICATION_SOCKETS = 8;

/** One undici pool per lane, over connections that this library opens and closes. */
export class PooledDispatchers implements DispatcherProvider {
  readonly #options: PooledDispatchersOptions;
  readonly #reaper: IdleSocketReaper;
  readonly #calls: undici.Pool;
  #notifications: undici.Pool | undefined;
  #streams: undici.Pool | undefined;
  #serverStreams: undici.Pool | undefined;
  /** The sockets of server streams that do not keep the process alive. */
  #unrefSockets: Set<Socket> | undefined = new Set();

  constructor(options: PooledDispatchersOptions) {
    const { now = () => performance.now() } = options;
    this.#options = options;
    this.#reaper = new IdleSocketReaper(now);
    this.#calls = this.#createPool(options.sockets);
  }

  dispatcherFor(lane: RequestLane): undici.Dispatcher {
    this.#reaper.closeStale();
    switch (lane) {
      case "call":
        return this.#calls;
      case "notification":
        return this.#notificationPool();
      case "stream":
        return (this.#streams ??= this.#createPool(null));
      case "server-stream":
        return (this.#serverStreams ??= this.#createPool(null, this.#connectServerStream));
    }
  }

  holdServerStreams(): void {
    for (const socket of this.#unrefSockets ?? []) {
      Reflect.deleteProperty(socket, "ref");
      socket.ref();
    }
    this.#unrefSockets = undefined;
  }

  onResponseHeaders(headers: ResponseHeaders): void {
    this.#reaper.onResponseHeaders(headers);
  }

  async close(): Promise<void> {
    const closed = Promise.all([
      this.#calls.destroy(),
      this.#notifications?.destroy(),
      this.#streams?.destroy(),
      this.#serverStreams?.destroy(),
    ]);
    await this.#options.connector.close();
    await closed;
  }

  /**
   * Uses the sockets of the call lane while they are free, so that a handshake does not open a second
   * connection.
   */
  #notificationPool(): undici.Dispatcher {
    const { running, queued, pending } = this.#calls.stats;
    if (running + queued + pending === 0) return this.#calls;
    return (this.#notifications ??= this.#createPool(NOTIFICATION_SOCKETS));
  }

  readonly #connectServerStream: undici.buildConnector.connector = (options, callback) =>
    this.#options.connector.connect(options, (...result) => {
      // undici omits the socket of a failed connection, unlike its types.
      const [error, socket] = result;
      if (error === null && socket !== null) this.#unref(socket);
      callback(...result);
    });

  /** undici refs a socket when it is used again, so its `ref` does nothing until `holdServerStreams`. */
  #unref(socket: Socket): void {
    if (this.#unrefSockets === undefined) return;
    this.#unrefSockets.add(socket);
    socket.once("close", () => this.#unrefSockets?.delete(socket));
    socket.unref();
    Object.defineProperty(socket, "ref", { value: () => socket, configurable: true });
  }

  #createPool(connections: number | null, connect = this.#options.connector.connect): undici.Pool {
    return new Pool(this.#options.origin, {
      connections,
      factory: this.#reaper.createClient,
      pipelining: 1,
      // Deadlines belong to the client: a slow response is not a connection error.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect,
    });
  }
}
