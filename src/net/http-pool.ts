import type {
  DispatcherProvider,
  HttpRequestHandler,
  HttpRequest,
  RequestLane,
  ResponseHeaders,
  RequestDispatcher,
} from "./http-request.js";
import { StaleSocketGuard } from "./idle-socket-reaper.js";
import type {
  HttpOptions,
  DispatcherLike,
  BodyReaderLike,
  ResponseLike,
  FetchLike,
} from "../config/http-options.js";
import { HttpConnector, type HttpConnectorOptions } from "./http-connector.js";
import { type AddressCheck, toIpLiteral } from "./address-guard.js";
import { PooledDispatchers } from "./pooled-dispatchers.js";
import { unwrapFetchError } from "./connect-errors.js";
import { omitUndefined } from "../json/json.js";

/** Sends HTTP requests to one server. Created once per client and shared by all its sessions. */
export class HttpPool {
  readonly origin: string;
  /** Whether server streams keep the process alive. */
  holdsServerStreams = false;
  readonly #dispatchers: DispatcherProvider;
  readonly #staleGuard = new StaleSocketGuard();

  constructor(origin: string, dispatchers: DispatcherProvider) {
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

  /** Whether server streams can be open without keeping the process alive, and without sockets that calls need. */
  get canStreamInBackground(): boolean {
    return this.#dispatchers.holdServerStreams !== undefined;
  }

  /** From now on server streams keep the process alive. */
  holdServerStreams(): void {
    this.holdsServerStreams = true;
    this.#dispatchers.holdServerStreams?.();
  }

  /** Closes every connection: in use, idle, or being opened. */
  async close(): Promise<void> {
    await this.#dispatchers.close();
  }
}

/**
 * Opens the pool of a server, which uses the user's `fetch` or `dispatcher` if there is one, otherwise its
 * own connections.
 */
export function openHttpPool(
  { url, tls, dispatcher, fetch }: HttpOptions & { readonly url: URL },
  options: Omit<HttpConnectorOptions, "origin" | "tls"> & { readonly sockets: number },
): HttpPool {
  const { origin } = url;
  const { checkAddress } = options;
  const userDispatcher = fetch === undefined ? dispatcher : toDispatcher(fetch);
  if (userDispatcher !== undefined) {
    const provider = toProvider(origin, userDispatcher);
    return new HttpPool(origin, checkAddress ? withAddressCheck(provider, url, checkAddress) : provider);
  }
  const connector = new HttpConnector({ ...options, origin: url, tls });
  return new HttpPool(origin, new PooledDispatchers({ origin, sockets: options.sockets, connector }));
}

/** Uses a user-supplied dispatcher for every lane. The user owns it, so it is never closed. */
function toProvider(origin: string, dispatcher: DispatcherLike): DispatcherProvider {
  const requestDispatcher: RequestDispatcher = {
    // Copy the headers: undici's ProxyAgent modifies the object it receives.
    dispatch: ({ headers, ...request }, handler) =>
      dispatcher.dispatch(
        { ...request, headers: { ...headers }, origin, headersTimeout: 0, bodyTimeout: 0 },
        handler,
      ),
  };
  return { dispatcherFor: () => requestDispatcher, close: async () => undefined };
}

/** A custom dispatcher or fetch resolves names itself, so that only an IP address in the URL is known. */
function withAddressCheck(
  provider: DispatcherProvider,
  url: URL,
  checkAddress: AddressCheck,
): DispatcherProvider {
  const dispatch = async (lane: RequestLane, request: HttpRequest, handler: HttpRequestHandler) => {
    const denial = await checkAddress(toIpLiteral(url));
    if (denial === undefined) handler.start(provider.dispatcherFor(lane), request);
    else handler.onResponseError(undefined, denial);
  };
  return {
    ...provider,
    dispatcherFor: (lane) => ({
      dispatch: (request, handler) => {
        void dispatch(lane, request, handler);
        return true;
      },
    }),
  };
}

type DispatchedRequest = HttpRequest & { readonly origin: string };

/** Adapts a user-supplied `fetch` to the dispatcher interface: reports the events that undici would emit. */
function toDispatcher(fetch: FetchLike): DispatcherLike {
  return {
    dispatch(request: DispatchedRequest, handler: HttpRequestHandler): boolean {
      const aborter = new AbortController();
      let reader: BodyReaderLike | undefined;
      const controller = {
        /** Also cancels the body, in case `fetch` ignores its signal. */
        abort: (reason: Error) => {
          aborter.abort(reason);
          reader?.cancel(reason).catch(() => undefined);
        },
      };
      const run = async () => {
        const { origin, path, method, headers, body } = request;
        const init = { method, headers, ...omitUndefined({ body }), redirect: "manual" } as const;
        const response = await fetch(`${origin}${path}`, { ...init, signal: aborter.signal });
        reader = response.body?.getReader();
        if (aborter.signal.aborted) await reader?.cancel();
        handler.onResponseStart(controller, response.status, toHeaders(response.headers));
        if (reader !== undefined)
          await readChunks(reader, (chunk) => handler.onResponseData(controller, chunk));
        handler.onResponseEnd(controller);
      };
      handler.onRequestStart(controller);
      run().catch((error: unknown) => handler.onResponseError(controller, unwrapFetchError(error)));
      return true;
    },
  };
}

async function readChunks(reader: BodyReaderLike, onChunk: (chunk: Buffer) => void): Promise<void> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return;
    onChunk(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  }
}

function toHeaders(source: ResponseLike["headers"]): ResponseHeaders {
  const headers: Record<string, string> = {};
  source.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return headers;
}
