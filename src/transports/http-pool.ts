import { setImmediate } from "node:timers";
import { Pool, type Dispatcher } from "undici";
import type { HttpExchange } from "./http-exchange.js";

export interface HttpPoolOptions {
  readonly origin: string;
  readonly sockets: number;
  readonly connectMs: number;
}

/** Longer than undici's 4 s; a server that closes earlier says so in its `Keep-Alive` header. */
const KEEP_ALIVE_MS = 30_000;

/** The connections to one server: made once for a client, kept across all its sessions. */
export class HttpPool {
  readonly #calls: Pool;
  readonly #options: HttpPoolOptions;
  #streams: Pool | undefined;
  #isFresh = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    this.#calls = this.#createPool(options.sockets);
  }

  get origin(): string {
    return this.#options.origin;
  }

  /**
   * Sends a request that ends. Unless the server has just been heard, the event loop is given one
   * turn first, in which idle sockets report that the server has closed them: a request written to a
   * dead socket is lost, and nobody can tell whether it was run.
   */
  call(exchange: HttpExchange, request: Dispatcher.DispatchOptions): void {
    if (this.#isFresh) exchange.start(this.#calls, request);
    else setImmediate(() => setImmediate(() => exchange.start(this.#calls, request)));
  }

  /** Opens a stream that stays open: among the calls it would hold their sockets and starve them. */
  stream(exchange: HttpExchange, request: Dispatcher.DispatchOptions): void {
    this.#streams ??= this.#createPool(null);
    exchange.start(this.#streams, request);
  }

  /** The server has answered something; what we know of its sockets is fresh until this turn ends. */
  heard(): void {
    if (this.#isFresh) return;
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
  }

  /** Ends every connection, the idle ones too. */
  async close(): Promise<void> {
    await Promise.all([this.#calls.destroy(), this.#streams?.destroy()]);
  }

  #createPool(connections: number | null): Pool {
    return new Pool(this.#options.origin, {
      connections,
      pipelining: 1,
      // Deadlines are the client's: a slow answer is not an error of the connection.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: this.#options.connectMs },
    });
  }
}
