import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/clock.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { JsonObject } from "../../json/json.js";
import type {
  BodyReader,
  HttpRequestEvents,
  HttpRequestHandler,
  ResponseHeaders,
} from "../../net/http-request.js";
import {
  describeOtherResponse,
  invalidResponseError,
  isResponse,
  isResponseTo,
  isSameId,
  isServerMessage,
  NOT_JSON_RPC,
  parseMessages,
  responseTooLargeError,
  type RpcRequest,
  UNMATCHED_RESPONSE,
  unprocessableError,
  UnreadableMessage,
} from "../json-rpc.js";
import type { PendingRequest, PendingRequests, WireRequest } from "../pending-requests.js";
import {
  BufferedReader,
  describeContent,
  discardBody,
  EventStreamReader,
  getContentEncoding,
  hasContentType,
  toText,
} from "./body-readers.js";
import { fromConnectionError, STREAM_ENDED } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";
import { isModernRequest } from "./modern-era.js";

/** How long a stream may stay open after its response before it is aborted. */
const STREAM_GRACE_MS = 200;
/** How many resumptions in a row may fail before the request fails. */
const MAX_FAILED_RESUMES = 3;
const BROKEN_RESUME_DELAY_MS = 100;
const ENDED_RESUME_DELAY_MS = 1_000;

/**
 * The HTTP side of one request: a POST and, if the server assigns event ids, GETs that resume an interrupted stream. It
 * settles its pending request with the server's response, or with an error as soon as there will be none.
 */
export class StreamableHttpRequest implements WireRequest, HttpRequestEvents {
  /** Whether the server cancels the request when its stream is closed. */
  readonly isModern: boolean;
  /** No caller waits for the response, so resuming its stream must not start a login. */
  isBackground: boolean | undefined;
  readonly #httpClient: McpHttpClient;
  readonly #pending: PendingRequest<StreamableHttpRequest>;
  readonly #owner: PendingRequests<StreamableHttpRequest>;
  readonly #hadSession: boolean;
  #handler: HttpRequestHandler | undefined;
  #stream: EventStreamReader | undefined;
  /** Set if the server compressed the body although the request did not allow it; used in the error message. */
  #encoding: string | undefined;
  /** Why an event on the stream could not be read. */
  #invalidEvent: string | undefined;
  #resumeScope: CancelScope | undefined;
  #isResumed = false;
  #failedResumes = 0;
  #cancelGrace: (() => void) | undefined;

  constructor(
    httpClient: McpHttpClient,
    owner: PendingRequests<StreamableHttpRequest>,
    pending: PendingRequest<StreamableHttpRequest>,
    message: RpcRequest,
  ) {
    this.#httpClient = httpClient;
    this.#owner = owner;
    this.#pending = pending;
    this.#hadSession = httpClient.sessionId !== undefined;
    this.isModern = isModernRequest(message);
  }

  get wasSent(): boolean {
    return this.#stream !== undefined || this.#handler?.wasDispatched === true;
  }

  /** Set when the POST begins. */
  set handler(handler: HttpRequestHandler) {
    this.#handler = handler;
  }

  /** Stops reading and resuming. Server requests of the stream end with it: the server can no longer cancel them. */
  abort(): void {
    this.#resumeScope?.cancel(undefined);
    this.#handler?.abort();
    for (const requestId of this.#httpClient.serverRequests.take(this)) {
      const params = { requestId, reason: "The request that it belongs to has ended." };
      this.#owner.receiveServerMessage({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
  }

  /** The request is settled, perhaps by a response on another stream: its own stream may stay open for a short time. */
  complete(): void {
    if (this.#stream === undefined) return;
    this.#cancelGrace = this.#httpClient.clock.after(STREAM_GRACE_MS, () => this.abort());
  }

  onHeaders(status: number, headers: ResponseHeaders): BodyReader {
    const hadSession = this.#hadSession;
    if (status < 200 || status > 299)
      return this.#httpClient.createErrorReader({ status, headers, hadSession }, (error) =>
        this.#fail(error),
      );
    // Only `initialize` sets the id: a late response must not restore the id of a lost session.
    if (this.#pending.method === "initialize") this.#httpClient.setSessionIdFrom(headers);
    this.#encoding = getContentEncoding(headers);
    if (hasContentType(headers, "text/event-stream")) return this.#readStream(undefined);
    if (hasContentType(headers, "application/json")) return this.#readJson(headers);
    this.#failInvalid(describeContent(status, headers));
    return discardBody;
  }

  onError(error: Error): void {
    if (this.#stream === undefined)
      this.#fail(fromConnectionError(error, this.#httpClient, { wasSent: this.wasSent }));
    else this.#onStreamEnd(error);
  }

  #readJson(headers: ResponseHeaders): BodyReader {
    const { server, maxBytes } = this.#httpClient;
    return new BufferedReader({
      headers,
      maxBytes,
      onTooLarge: () => this.#fail(responseTooLargeError(server, maxBytes)),
      onBytes: (bytes) => {
        this.#onText(toText(bytes));
        this.#failInvalid("it does not contain the response");
      },
    });
  }

  #readStream(interrupted: EventStreamReader | undefined): EventStreamReader {
    const { server, maxBytes } = this.#httpClient;
    const events = {
      onData: (data: string) => this.#onText(data),
      onTooLarge: () => this.#fail(responseTooLargeError(server, maxBytes)),
      onInvalid: (reason: string) => this.#failInvalid(reason),
      onEnd: () => this.#onStreamEnd(undefined),
    };
    this.#stream = new EventStreamReader(maxBytes, events, interrupted);
    return this.#stream;
  }

  /** No exception may reach undici, which would only close the connection. */
  #onText(text: string): void {
    if (this.#pending.isSettled) return;
    try {
      this.#receive(text);
    } catch (error) {
      this.#owner.fail(unprocessableError(this.#httpClient, error));
    }
  }

  #receive(text: string): void {
    const messages = parseMessages(text);
    if (typeof messages === "string")
      return this.#onInvalid(
        this.#encoding === undefined ? messages : `it is compressed (${this.#encoding})`,
      );
    let firstProblem: string | undefined;
    for (const message of messages) {
      const problem = this.#onMessage(message);
      if (this.#pending.isSettled) return;
      if (problem !== undefined && firstProblem === undefined) this.#onInvalid(problem);
      firstProblem ??= problem;
    }
  }

  /** Returns why a message is ignored. */
  #onMessage(value: unknown): string | undefined {
    this.#failedResumes = 0;
    if (value instanceof UnreadableMessage) return this.#onUnreadable(value);
    if (isServerMessage(value)) this.#forward(value);
    else if (!isResponse(value)) return NOT_JSON_RPC;
    else if (isResponseTo(value, this.#pending.id)) this.#pending.receive(value);
    // On resumption some servers replay the messages of all streams.
    else if (!this.#isResumed) return this.#onOtherResponse(value);
    return undefined;
  }

  #onUnreadable({ reason, id, isServerMessage: hasMethod }: UnreadableMessage): string | undefined {
    if (hasMethod) return reason;
    if (id === undefined || isSameId(id, this.#pending.id)) this.#failInvalid(reason);
    else if (!this.#isResumed) return this.#onOtherResponse({ id });
    return undefined;
  }

  #forward(message: JsonRpcMessage): void {
    // Modern servers send their requests inside results.
    if (!this.isModern) this.#httpClient.serverRequests.onReceived(message, this);
    this.#owner.receiveServerMessage(message);
  }

  /** An invalid event on a stream is reported, and the response may still follow. */
  #onInvalid(reason: string): void {
    if (this.#stream === undefined) return this.#failInvalid(reason);
    this.#invalidEvent ??= reason;
    this.#owner.ignore(reason);
  }

  /**
   * An id with a prefix belongs to a session that other clients may share: the response may be for another client, and
   * the one for this client may follow.
   */
  #onOtherResponse(response: JsonObject): string | undefined {
    if (typeof this.#pending.id === "string") return UNMATCHED_RESPONSE;
    this.#failInvalid(describeOtherResponse(response));
    return undefined;
  }

  #failInvalid(reason: string): void {
    if (!this.#pending.isSettled) this.#fail(invalidResponseError(this.#httpClient, reason));
  }

  #fail(failure: McpRuntimeError): void {
    if (this.#pending.isSettled) return;
    this.abort();
    this.#pending.reject(failure);
  }

  /** A stream that ends before its response is resumed if the server assigns event ids; otherwise the request fails. */
  #onStreamEnd(cause: Error | undefined): void {
    this.#cancelGrace?.();
    if (this.#pending.isSettled) return;
    const failure =
      this.#invalidEvent === undefined
        ? fromConnectionError(cause ?? STREAM_ENDED, this.#httpClient, { wasSent: true })
        : invalidResponseError(this.#httpClient, this.#invalidEvent);
    this.#resumeOrFail(failure, cause === undefined ? "ended" : "broken");
  }

  #resumeOrFail(failure: McpRuntimeError, interruption: "ended" | "broken"): void {
    if (this.#pending.isSettled) return;
    if (this.#stream?.lastEventId === undefined || this.#failedResumes >= MAX_FAILED_RESUMES) {
      this.#fail(failure);
      return;
    }
    this.#resumeScope ??= new CancelScope();
    delay(this.#nextResumeDelayMs(interruption), this.#httpClient.clock, this.#resumeScope).then(
      () => this.#resume(failure),
      () => undefined,
    );
  }

  /** A stream that the server ended is resumed after its `retry` time, a broken one at once. */
  #nextResumeDelayMs(interruption: "ended" | "broken"): number {
    if (interruption === "ended")
      return Math.max(this.#stream?.retryMs ?? ENDED_RESUME_DELAY_MS, BROKEN_RESUME_DELAY_MS);
    this.#failedResumes += 1;
    return BROKEN_RESUME_DELAY_MS * (this.#failedResumes - 1);
  }

  #resume(failure: McpRuntimeError): void {
    if (this.#pending.isSettled) return;
    this.#isResumed = true;
    const interrupted = this.#stream;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => {
        if (status === 200 && hasContentType(headers, "text/event-stream"))
          return this.#readStream(this.#stream);
        this.#fail(failure);
        return discardBody;
      },
      // A resumption that cannot connect is not why the request fails: its stream was interrupted before.
      onError: (error) =>
        this.#stream === interrupted ? this.#resumeOrFail(failure, "broken") : this.onError(error),
    };
    const { isBackground } = this;
    this.#handler = this.#httpClient.get(this.#stream?.lastEventId, events, { isBackground });
  }
}
