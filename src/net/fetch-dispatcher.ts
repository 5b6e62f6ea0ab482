import type { BodyReaderLike, ResponseLike, FetchLike, DispatcherLike } from "../config/http-options.js";
import type { HttpRequestHandler, HttpRequest, ResponseHeaders } from "./http-request.js";
import { reasonOf } from "./unwrap-fetch-error.js";

type DispatchedRequest = HttpRequest & { readonly origin: string };

/** A caller's `fetch`, used like a dispatcher. */
export class FetchDispatcher implements DispatcherLike {
  readonly #fetch: FetchLike;

  constructor(fetch: FetchLike) {
    this.#fetch = fetch;
  }

  dispatch(request: DispatchedRequest, exchange: HttpRequestHandler): boolean {
    const run = new FetchRun(exchange);
    exchange.onRequestStart(run);
    run.start(this.#fetch, request).catch((error: unknown) => exchange.onResponseError(run, reasonOf(error)));
    return true;
  }
}

/** One request: it is told to the exchange as undici would tell it. */
class FetchRun {
  readonly #exchange: HttpRequestHandler;
  readonly #aborter = new AbortController();
  #reader: BodyReaderLike | undefined;

  constructor(exchange: HttpRequestHandler) {
    this.#exchange = exchange;
  }

  /** Also where a `fetch` does not mind its signal: nobody reads on. */
  abort(reason: Error): void {
    this.#aborter.abort(reason);
    this.#reader?.cancel(reason).catch(() => undefined);
  }

  async start(fetch: FetchLike, request: DispatchedRequest): Promise<void> {
    const { origin, path, method, headers, body } = request;
    const response = await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      signal: this.#aborter.signal,
    });
    this.#reader = response.body?.getReader();
    if (this.#aborter.signal.aborted) await this.#reader?.cancel();
    this.#exchange.onResponseStart(this, response.status, toHeaders(response.headers));
    await this.#read();
    this.#exchange.onResponseEnd(this);
  }

  async #read(): Promise<void> {
    while (this.#reader !== undefined) {
      const { done, value } = await this.#reader.read();
      if (done || value === undefined) return;
      this.#exchange.onResponseData(this, Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    }
  }
}

function toHeaders(given: ResponseLike["headers"]): ResponseHeaders {
  const headers: Record<string, string> = {};
  given.forEach((value, name) => {
    headers[name.toLowerCase()] = value;
  });
  return headers;
}
