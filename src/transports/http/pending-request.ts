import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/clock.js";
import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  BufferedReader,
  EventStreamReader,
  discardBody,
  toText,
  describeContent,
  getContentEncoding,
  hasContentType,
} from "./body-readers.js";
import type {
  BodyReader,
  HttpRequestEvents,
  HttpRequestHandler,
  ResponseHeaders,
} from "../../net/http-request.js";
import { STREAM_ENDED, fromConnectionError } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";
import {
  isRequest,
  invalidResponseError,
  parseMessages,
  type ClassifiedMessage,
  type RequestId,
  classifyMessage,
  toLocalErrorResponse,
  responseTooLargeError,
} from "../json-rpc.js";
import { LISTEN_METHOD } from "./modern-era.js";

/** How long a stream may stay open after its response before it is aborted. */
const STREAM_GRACE_MS = 200;
/** How many resumptions in a row may fail before the request fails. */
const MAX_FAILED_RESUMES = 3;
const BROKEN_RESUME_DELAY_MS = 100;
const ENDED_RESUME_DELAY_MS = 1_000;

interface PendingRequestEvents {
  /** The headers of a successful HTTP response. */
  readonly onHeaders: (headers: ResponseHeaders) => void;
  /** A request or notification that the server sent on the stream of this request. */
  readonly onServerMessage: (message: JsonRpcMessage) => void;
  readonly onResponse: (response: JsonRpcMessage) => void;
}

/**
 * One request until its response: a POST and, if the server assigns event ids, GETs that resume an
 * interrupted stream. It ends with exactly one message, the server's response or a local error, unless
 * it is cancelled first.
 */
export class PendingRequest {
  readonly #httpClient: McpHttpClient;
  readonly #id: RequestId;
  readonly #events: PendingRequestEvents;
  readonly #cancelScope = new CancelScope();
  #handler: HttpRequestHandler | undefined;
  #stream: EventStreamReader | undefined;
  /** Set if the server compressed the body although the request did not allow it; used in the error message. */
  #encoding: string | undefined;
  #isResumed = false;
  #hasEnded = false;
  #failedResumes = 0;
  #cancelGrace: (() => void) | undefined;
  /** The ids of the server requests that were received on this stream. */
  readonly #serverRequestIds: RequestId[] = [];

  constructor(httpClient: McpHttpClient, id: RequestId, events: PendingRequestEvents) {
    this.#httpClient = httpClient;
    this.#id = id;
    this.#events = events;
  }

  /** Whether the server may have seen the request. */
  get wasSent(): boolean {
    return this.#stream !== undefined || this.#handler?.wasDispatched === true;
  }

  start(message: JsonRpcMessage, options: SendOptions): void {
    const hadSession = this.#httpClient.sessionId !== undefined;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => this.#readResponse(status, headers, hadSession),
      onError: (error) => this.#onConnectionError(error),
    };
    const lane = message.method === LISTEN_METHOD ? "stream" : "call";
    this.#handler = this.#httpClient.post(message, lane, events, options);
  }

  /** Aborts the request without a response. */
  cancel(): void {
    this.#hasEnded = true;
    this.#cancelScope.cancel(undefined);
    this.#handler?.abort();
    this.#cancelServerRequests();
  }

  #readResponse(status: number, headers: ResponseHeaders, hadSession: boolean): BodyReader {
    if (status < 200 || status > 299) {
      return this.#httpClient.createErrorReader({ status, headers, hadSession }, (failure) =>
        this.#fail(failure),
      );
    }
    this.#events.onHeaders(headers);
    this.#encoding = getContentEncoding(headers);
    if (hasContentType(headers, "text/event-stream")) return this.#readStream();
    if (hasContentType(headers, "application/json")) return this.#readJson(headers);
    this.#failInvalid(`HTTP ${status} ${describeContent(headers)}`);
    return discardBody;
  }

  #readJson(headers: ResponseHeaders): BodyReader {
    const onTooLarge = () =>
      this.#fail(responseTooLargeError(this.#httpClient.server, this.#httpClient.maxBytes));
    if (Number(headers["content-length"] ?? 0) > this.#httpClient.maxBytes) onTooLarge();
    return new BufferedReader(this.#httpClient.maxBytes, {
      onTooLarge,
      onBytes: (bytes) => {
        this.#onText(toText(bytes));
        this.#failInvalid("it does not contain the response");
      },
    });
  }

  #readStream(resumed?: EventStreamReader): EventStreamReader {
    const stream = new EventStreamReader(this.#httpClient.maxBytes, {
      onData: (data) => this.#onText(data),
      onTooLarge: () => this.#fail(responseTooLargeError(this.#httpClient.server, this.#httpClient.maxBytes)),
      onEnd: () => this.#onStreamEnd(undefined),
    });
    stream.lastEventId = resumed?.lastEventId;
    stream.retryMs = resumed?.retryMs;
    this.#stream = stream;
    return stream;
  }

  #onText(text: string): void {
    if (this.#hasEnded) return;
    const messages = parseMessages(text);
    for (const value of messages ?? []) this.#onMessage(classifyMessage(value, this.#id));
    if (messages !== undefined) return;
    this.#failInvalid(
      this.#encoding === undefined ? "it is not valid JSON" : `it is compressed (${this.#encoding})`,
    );
  }

  #onMessage(classified: ClassifiedMessage): void {
    if (this.#hasEnded) return;
    this.#failedResumes = 0;
    if (classified.type === "response") this.#end(classified.message);
    else if (classified.type === "server-message") this.#forward(classified.message);
    // On resumption some servers replay the messages of all streams.
    else if (classified.type === "other-response" && this.#isResumed) return;
    else this.#failInvalid(classified.reason);
  }

  #forward(message: JsonRpcMessage): void {
    if (isRequest(message)) this.#serverRequestIds.push(message.id);
    this.#events.onServerMessage(message);
  }

  /** Server requests end with the request they belong to: without its stream the server cannot cancel them. */
  #cancelServerRequests(): void {
    const reason = "The request that it belongs to has ended.";
    for (const requestId of this.#serverRequestIds.splice(0)) {
      const params = { requestId, reason };
      this.#events.onServerMessage({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
  }

  #failInvalid(reason: string): void {
    if (this.#hasEnded) return;
    this.#fail(invalidResponseError(this.#httpClient, reason));
  }

  #fail(failure: McpRuntimeError): void {
    if (this.#hasEnded) return;
    this.#handler?.abort();
    this.#hasEnded = true;
    this.#cancelServerRequests();
    this.#events.onResponse(toLocalErrorResponse(this.#id, failure));
  }

  #end(response: JsonRpcMessage): void {
    this.#hasEnded = true;
    if (this.#stream !== undefined) {
      this.#cancelGrace = this.#httpClient.clock.after(STREAM_GRACE_MS, () => this.#handler?.abort());
    }
    this.#events.onResponse(response);
  }

  #onConnectionError(error: Error): void {
    if (this.#stream === undefined) this.#fail(fromConnectionError(error, this.wasSent, this.#httpClient));
    else this.#onStreamEnd(error);
  }

  /** A stream that ends before its response is resumed if the server assigns event ids; otherwise the request fails. */
  #onStreamEnd(cause: Error | undefined): void {
    this.#cancelGrace?.();
    if (this.#hasEnded) return;
    const failure = fromConnectionError(cause ?? STREAM_ENDED, true, this.#httpClient);
    if (this.#stream?.lastEventId === undefined || this.#failedResumes >= MAX_FAILED_RESUMES) {
      this.#fail(failure);
      return;
    }
    delay(this.#nextResumeDelayMs(cause !== undefined), this.#httpClient.clock, this.#cancelScope).then(
      () => this.#resume(failure),
      () => undefined,
    );
  }

  /** A stream that the server ended is resumed after its `retry` time, a broken one at once. */
  #nextResumeDelayMs(isBroken: boolean): number {
    if (!isBroken) return Math.max(this.#stream?.retryMs ?? ENDED_RESUME_DELAY_MS, BROKEN_RESUME_DELAY_MS);
    this.#failedResumes += 1;
    return BROKEN_RESUME_DELAY_MS * (this.#failedResumes - 1);
  }

  #resume(failure: McpRuntimeError): void {
    this.#isResumed = true;
    const { lastEventId } = this.#stream ?? {};
    this.#handler = this.#httpClient.get(lastEventId, {
      onHeaders: (status, headers) => {
        if (status === 200 && hasContentType(headers, "text/event-stream"))
          return this.#readStream(this.#stream);
        this.#fail(failure);
        return discardBody;
      },
      onError: (error) => this.#onConnectionError(error),
    });
  }
}
