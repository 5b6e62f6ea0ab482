import type { Dispatcher } from "undici";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Takes the body of one response, as it comes. */
export interface BodyReader {
  data(chunk: Buffer): void;
  end(): void;
}

export interface HttpExchangeEvents {
  /** The head of the response is there; says who reads the body. */
  readonly onHead: (status: number, headers: ResponseHeaders) => BodyReader;
  /** The connection could not be made, or broke. */
  readonly onBroken: (error: Error) => void;
}

/**
 * One HTTP request and its response, as undici tells it. Exactly one of `BodyReader.end`, `onBroken`
 * and `stop()` ends it, and nothing is heard afterwards.
 */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #events: HttpExchangeEvents;
  #controller: Dispatcher.DispatchController | undefined;
  #reader: BodyReader | undefined;
  #isStopped = false;
  #isOver = false;

  constructor(events: HttpExchangeEvents) {
    this.#events = events;
  }

  /** Once true, the server may have seen the request; before, it certainly has not. */
  get isStarted(): boolean {
    return this.#controller !== undefined;
  }

  /** Sends the request. Once more after a redirect: the server then has not taken the first one. */
  start(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): void {
    if (this.#isStopped) return;
    this.#isOver = false;
    this.#controller = undefined;
    this.#reader = undefined;
    try {
      dispatcher.dispatch(request, this);
    } catch (error) {
      this.onResponseError(undefined, error as Error);
    }
  }

  /** Ends it from our side: an unfinished response costs the connection, a queued request nothing. */
  stop(): void {
    this.#isStopped = true;
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.abort(new Error("The response is no longer wanted."));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown, not aborted: undici then lets the request go and keeps the connection.
    if (this.#isOver) throw new Error("The request is no longer wanted.");
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
  ): void {
    if (this.#isOver || status < 200) return;
    this.#reader = this.#events.onHead(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#reader?.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader?.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onBroken(error);
  }
}
