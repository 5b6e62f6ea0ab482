import type {
  DispatcherProvider,
  HttpRequestHandler,
  HttpRequest,
  RequestLane,
  ResponseHeaders,
} from "./http-request.js";
import { StaleSocketGuard } from "./stale-socket-guard.js";
import type { HttpOptions } from "../config/http-options.js";
import { UserDispatcher, FetchDispatcher } from "./user-dispatcher.js";
import { type CreateConnectorOptions, createConnector } from "./http-connector.js";
import { PooledDispatchers } from "./pooled-dispatchers.js";

interface HttpPoolOptions {
  readonly origin: string;
  readonly dispatchers: DispatcherProvider;
}

/** Sends HTTP requests to one server. Created once per client and shared by all its sessions. */
export class HttpPool {
  readonly origin: string;
  readonly #dispatchers: DispatcherProvider;
  readonly #staleGuard = new StaleSocketGuard();

  constructor({ origin, dispatchers }: HttpPoolOptions) {
    this.origin = origin;
    this.#dispatchers = dispatchers;
  }

  send(lane: RequestLane, handler: HttpRequestHandler, request: HttpRequest): void {
    const start = () => handler.start(this.#dispatchers.dispatcherFor(lane), request);
    if (lane === "call") this.#staleGuard.afterPoll(start);
    else start();
  }

  /** Called with the headers of every response, which also prove that the sockets are alive. */
  onResponseHeaders(headers: ResponseHeaders): void {
    this.#staleGuard.markActive();
    this.#dispatchers.onResponseHeaders?.(headers);
  }

  /** Closes every connection: in use, idle, or being opened. */
  async close(): Promise<void> {
    await this.#dispatchers.close();
  }
}

interface HttpTarget extends HttpOptions {
  readonly url: URL;
}

interface OpenHttpPoolOptions extends CreateConnectorOptions {
  readonly sockets: number;
}

/**
 * Opens the pool of a server, which uses the user's `fetch` or `dispatcher` if there is one, otherwise its
 * own connections.
 */
export function openHttpPool(
  { url, tls, dispatcher, fetch }: HttpTarget,
  options: OpenHttpPoolOptions,
): HttpPool {
  const { origin } = url;
  const userDispatcher = fetch === undefined ? dispatcher : new FetchDispatcher(fetch);
  if (userDispatcher !== undefined)
    return new HttpPool({ origin, dispatchers: new UserDispatcher(origin, userDispatcher) });
  const connector = createConnector(url, tls, options);
  const dispatchers = new PooledDispatchers({ origin, sockets: options.sockets, connector });
  return new HttpPool({ origin, dispatchers });
}
