import type { DispatcherLike, BodyReaderLike, ResponseLike, FetchLike } from "../config/http-options.js";
import type { RequestDispatcher, HttpRequestHandler, HttpRequest, ResponseHeaders } from "./http-request.js";
import type { DispatcherProvider } from "./http-request.js";
import { unwrapFetchError } from "./connect-errors.js";

/** Uses a user-supplied dispatcher for every lane. The user owns it, so it is never closed. */
export class UserDispatcher implements DispatcherProvider {
  readonly #dispatcher: RequestDispatcher;

  constructor(origin: string, dispatcher: DispatcherLike) {
    this.#dispatcher = {
      // Copy the headers: undici's ProxyAgent modifies the object it receives.
      dispatch: ({ headers, ...request }, handler) =>
        dispatcher.dispatch(
          { ...request, headers: { ...headers }, origin, headersTimeout: 0, bodyTimeout: 0 },
          handler,
        ),
    };
  }

  dispatcherFor(): RequestDispatcher {
    return this.#dispatcher;
  }

  async close(): Promise<void> {
    // The user closes it.
  }
}

type DispatchedRequest = HttpRequest & { readonly origin: string };

/** Adapts a user-supplied `fetch` to the dispatcher interface. */
export class FetchDispatcher implements DispatcherLike {
  readonly #fetch: FetchLike;

  constructor(fetch: FetchLike) {
    this.#fetch = fetch;
  }

  dispatch(request: DispatchedRequest, handler: HttpRequestHandler): boolean {
    const run = new FetchRequestRun(handler);
    handler.onRequestStart(run);
    run
      .start(this.#fetch, request)
      .catch((error: unknown) => handler.onResponseError(run, unwrapFetchError(error)));
    return true;
  }
}

/** One `fetch` request, reported to the handler with the events that undici would emit. */
class FetchRequestRun {
  readonly #handler: HttpRequestHandler;
  readonly #abortController = new AbortController();
  #reader: BodyReaderLike | undefined;

  constructor(handler: HttpRequestHandler) {
    this.#handler = handler;
  }

  /** Also cancels the body, in case `fetch` ignores its signal. */
  abort(reason: Error): void {
    this.#abortController.abort(reason);
    this.#reader?.cancel(reason).catch(() => undefined);
  }

  async start(fetch: FetchLike, request: DispatchedRequest): Promise<void> {
    const { origin, path, method, headers, body } = request;
    const response = await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      signal: this.#abortController.signal,
    });
    this.#reader = response.body?.getReader();
    if (this.#abortController.signal.aborted) await this.#reader?.cancel();
    this.#handler.onResponseStart(this, response.status, toHeaders(response.headers));
    await this.#read();
    this.#handler.onResponseEnd(this);
  }

  async #read(): Promise<void> {
    while (this.#reader !== undefined) {
      const { done, value } = await this.#reader.read();
      if (done || value === undefined) return;
      this.#handler.onResponseData(this, Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    }
  }
}

function toHeaders(source: ResponseLike["headers"]): ResponseHeaders {
  const headers: Record<string, string> = {};
  source.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return headers;
}
