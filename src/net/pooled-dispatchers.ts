import { Pool, type Dispatcher } from "undici";
import type { HttpConnector } from "./http-connector.js";
import type { DispatcherProvider, RequestLane, ResponseHeaders } from "./http-request.js";
import { IdleSocketReaper, KEEP_ALIVE_MS } from "./idle-socket-reaper.js";

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
  readonly #calls: Pool;
  #notifications: Pool | undefined;
  #streams: Pool | undefined;

  constructor(options: PooledDispatchersOptions) {
    const { now = () => performance.now() } = options;
    this.#options = options;
    this.#reaper = new IdleSocketReaper(now);
    this.#calls = this.#createPool(options.sockets);
  }

  dispatcherFor(lane: RequestLane): Dispatcher {
    this.#reaper.closeStale();
    switch (lane) {
      case "call":
        return this.#calls;
      case "notification":
        return this.#notificationPool();
      case "stream":
        return (this.#streams ??= this.#createPool(null));
    }
  }

  onResponseHeaders(headers: ResponseHeaders): void {
    this.#reaper.onResponseHeaders(headers);
  }

  async close(): Promise<void> {
    const closed = Promise.all([
      this.#calls.destroy(),
      this.#notifications?.destroy(),
      this.#streams?.destroy(),
    ]);
    await this.#options.connector.close();
    await closed;
  }

  /**
   * Uses the sockets of the call lane while they are free, so that a handshake does not open a second
   * connection.
   */
  #notificationPool(): Dispatcher {
    const { running, queued, pending } = this.#calls.stats;
    if (running + queued + pending === 0) return this.#calls;
    return (this.#notifications ??= this.#createPool(NOTIFICATION_SOCKETS));
  }

  #createPool(connections: number | null): Pool {
    return new Pool(this.#options.origin, {
      connections,
      factory: this.#reaper.createClient,
      pipelining: 1,
      // Deadlines belong to the client: a slow response is not a connection error.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: this.#options.connector.connect,
    });
  }
}
