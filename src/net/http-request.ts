import type { Dispatcher } from "undici";
import { neverConnected } from "./is-connect-error.js";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** How a response begins. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Sends requests: a pool of ours, or what a caller lends us. */
export interface RequestDispatcher {
  dispatch(request: HttpRequest, exchange: HttpRequestHandler): boolean;
}

/** How a request that is under way can be ended. */
interface RequestControl {
  abort(reason: Error): void;
}

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
export class HttpRequestHandler implements Dispatcher.DispatchHandler {
  readonly #events: HttpExchangeEvents;
  #controller: RequestControl | undefined;
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

  /** Nobody wants the response any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Sends the request. Once more after a redirect or a refusal: the server then has not taken the first one. */
  start(dispatcher: RequestDispatcher, request: HttpRequest): void {
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

  /** Gives up what is left of a response that was a refusal: the request counts as not sent. */
  abandon(): void {
    const controller = this.#controller;
    this.#controller = undefined;
    if (this.#isOver) return;
    this.#isOver = true;
    controller?.abort(new Error("The response is no longer wanted."));
  }

  onRequestStart(controller: RequestControl): void {
    // Thrown, not aborted: undici then lets the request go and keeps the connection.
    if (this.#isOver) throw new Error("The request is no longer wanted.");
    this.#controller = controller;
  }

  onResponseStart(controller: RequestControl, status: number, headers: ResponseHeaders): void {
    if (!this.#isCurrent(controller) || status < 200) return;
    this.#reader = this.#events.onHead(status, headers);
  }

  onResponseData(controller: RequestControl, chunk: Buffer): void {
    if (this.#isCurrent(controller)) this.#reader?.data(chunk);
  }

  onResponseEnd(controller: RequestControl): void {
    if (!this.#isCurrent(controller)) return;
    this.#isOver = true;
    this.#reader?.end();
  }

  onResponseError(controller: RequestControl | undefined, error: Error): void {
    if (this.#isOver || (this.#controller !== undefined && controller !== this.#controller)) return;
    this.#isOver = true;
    // A `fetch` does not say when it begins to send, and a certificate may be refused while we do.
    if (neverConnected(error)) this.#controller = undefined;
    this.#events.onBroken(error);
  }

  /** A response that was abandoned may still have something to say. */
  #isCurrent(controller: RequestControl): boolean {
    return !this.#isOver && controller === this.#controller;
  }
}
