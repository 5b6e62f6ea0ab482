import type { Dispatcher } from "undici";
import { BAD_UPGRADE, isConnectError } from "./connect-errors.js";

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The status line and headers of a response. */
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

/** Sends requests: one of our pools, or a user-supplied dispatcher. */
export interface RequestDispatcher {
  dispatch(request: HttpRequest, handler: HttpRequestHandler): boolean;
}

/**
 * How a request uses the pool.
 * - `call`: expects a response, and waits for a free socket
 * - `notification`: a notification, a response to a server request, or the `DELETE` that terminates a
 *   session. It must get through while calls occupy every socket, because some calls complete only after it
 * - `stream`: stays open, and would block a socket that calls need
 * - `server-stream`: like `stream`, for messages that belong to no request. Its sockets do not keep the process alive
 *   until `holdServerStreams`
 */
export type RequestLane = "call" | "notification" | "stream" | "server-stream";

/** Provides the dispatcher for each lane. */
export interface DispatcherProvider {
  dispatcherFor(lane: RequestLane): RequestDispatcher;
  /** Called with the headers of every response. */
  onResponseHeaders?(headers: ResponseHeaders): void;
  /** From now on the sockets of server streams keep the process alive. Not set if they always do. */
  holdServerStreams?(): void;
  close(): Promise<void>;
}

/** Aborts a dispatched request. */
interface RequestController {
  abort(reason: Error): void;
}

/** Receives the body of one response in chunks. */
export interface BodyReader {
  data(chunk: Buffer): void;
  end(): void;
}

export interface HttpRequestEvents {
  /** Called with the response headers; returns the reader of the body. */
  readonly onHeaders: (status: number, headers: ResponseHeaders) => BodyReader;
  /** The connection could not be opened, or broke. */
  readonly onError: (error: Error) => void;
}

/**
 * The undici handler of one HTTP request and its response. Exactly one of `BodyReader.end`, `onError` and
 * `abort()` completes it, and no event follows.
 */
export class HttpRequestHandler implements Dispatcher.DispatchHandler {
  readonly #events: HttpRequestEvents;
  #controller: RequestController | undefined;
  #reader: BodyReader | undefined;
  #isAborted = false;
  #isDone = false;

  constructor(events: HttpRequestEvents) {
    this.#events = events;
  }

  /** While false, the server has certainly not received the request. */
  get wasDispatched(): boolean {
    return this.#controller !== undefined;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /**
   * Sends the request. Called again after a redirect or an authentication challenge, when the server did
   * not process the first one.
   */
  start(dispatcher: RequestDispatcher, request: HttpRequest): void {
    if (this.#isAborted) return;
    this.#isDone = false;
    this.#controller = undefined;
    this.#reader = undefined;
    try {
      dispatcher.dispatch(request, this);
    } catch (error) {
      this.onResponseError(undefined, error as Error);
    }
  }

  /** Aborting an unfinished response closes its connection; aborting a queued request does not. */
  abort(): void {
    this.#isAborted = true;
    if (this.#isDone) return;
    this.#isDone = true;
    this.#controller?.abort(new Error("The response was discarded."));
  }

  /** Drops the rest of a response that rejected the request, which then counts as not sent. */
  discard(): void {
    const controller = this.#controller;
    this.#controller = undefined;
    if (this.#isDone) return;
    this.#isDone = true;
    controller?.abort(new Error("The response was discarded."));
  }

  onRequestStart(controller: RequestController): void {
    // Throwing instead of aborting makes undici drop the request but keep the connection.
    if (this.#isDone) throw new Error("The request was aborted.");
    this.#controller = controller;
  }

  onResponseStart(controller: RequestController, status: number, headers: ResponseHeaders): void {
    if (!this.#isCurrent(controller)) return;
    if (status >= 200) this.#reader = this.#events.onHeaders(status, headers);
    else if (status === 101) {
      // Without the header `upgrade`, for which an assertion of undici would fail.
      const error = new Error(BAD_UPGRADE);
      this.onResponseError(controller, error);
      controller.abort(error);
    }
  }

  onResponseData(controller: RequestController, chunk: Buffer): void {
    if (this.#isCurrent(controller)) this.#reader?.data(chunk);
  }

  onResponseEnd(controller: RequestController): void {
    if (!this.#isCurrent(controller)) return;
    this.#isDone = true;
    this.#reader?.end();
  }

  onResponseError(controller: RequestController | undefined, error: Error): void {
    if (this.#isDone || (this.#controller !== undefined && controller !== this.#controller)) return;
    this.#isDone = true;
    // `fetch` does not report when it starts to send, and a TLS 1.3 server may reject our certificate after
    // we started.
    if (isConnectError(error)) this.#controller = undefined;
    this.#events.onError(error);
  }

  /** False for late events of a discarded response. */
  #isCurrent(controller: RequestController): boolean {
    return !this.#isDone && controller === this.#controller;
  }
}
