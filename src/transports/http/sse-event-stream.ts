import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  EventStreamReader,
  discardBody,
  describeContent,
  getContentEncoding,
  hasContentType,
} from "./body-readers.js";
import type { BodyReader, HttpRequestHandler, ResponseHeaders } from "../../net/http-request.js";
import { invalidResponseError } from "../json-rpc.js";
import { STREAM_ENDED, fromConnectionError } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";

/** Every request contains it. */
const MAX_ENDPOINT_LENGTH = 16_384;

interface SseEventStreamEvents {
  /** Any bytes were received. */
  readonly onActivity: () => void;
  /** The data of one `message` event. */
  readonly onData: (data: string) => void;
  /** The open stream has ended. `toFailure` creates the error of a pending request. */
  readonly onClosed: (toFailure: (wasSent: boolean) => McpRuntimeError) => void;
  readonly onTooLarge: () => void;
  /** The stream is not an event stream. */
  readonly onInvalid: (failure: McpRuntimeError) => void;
}

/**
 * The event stream of an SSE server. Its first event names the endpoint to post messages to; all messages
 * of the server follow. It is not resumed: the session ends with it.
 */
export class SseEventStream {
  readonly #httpClient: McpHttpClient;
  readonly #events: SseEventStreamEvents;
  #handler: HttpRequestHandler | undefined;
  #isStreaming = false;
  #isClosed = false;
  /** Settles `open()`; `undefined` afterwards. */
  #opening: { resolve(endpoint: URL): void; reject(failure: McpRuntimeError): void } | undefined;

  constructor(httpClient: McpHttpClient, events: SseEventStreamEvents) {
    this.#httpClient = httpClient;
    this.#events = events;
  }

  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** Resolves with the endpoint, which is always on the server's own origin. */
  open(): Promise<URL> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#handler = this.#httpClient.get(undefined, {
        onHeaders: (status, headers) => this.#readResponse(status, headers),
        onError: (error) => this.#end(error),
      });
    });
  }

  /** No event is emitted afterwards. */
  close(): void {
    if (this.#opening === undefined) this.#stop();
    else this.#failWith("closed", "had not sent its endpoint when the transport was closed.");
  }

  #readResponse(status: number, headers: ResponseHeaders): BodyReader {
    if (status > 299) {
      return this.#httpClient.createErrorReader({ status, headers, hadSession: false }, (failure) =>
        this.#fail(failure),
      );
    }
    const encoding = getContentEncoding(headers);
    const isStream = hasContentType(headers, "text/event-stream");
    if (isStream && encoding === undefined) return this.#read();
    const content = isStream
      ? `HTTP ${status} with a compressed stream (${encoding})`
      : describeContent(status, headers);
    const quoted = this.#httpClient.redactor.excerpt(content);
    this.#failWith("invalid-response", `returned ${quoted} where an event stream was expected.`);
    return discardBody;
  }

  #read(): BodyReader {
    this.#isStreaming = true;
    const reader = new EventStreamReader(this.#httpClient.maxBytes, {
      onData: (data) => {
        if (this.#isClosed) return;
        if (this.#opening === undefined) this.#events.onData(data);
        else this.#failWith("invalid-response", "sent messages before the endpoint event.");
      },
      onNamedEvent: (event, data) => {
        if (event === "endpoint") this.#setEndpoint(data);
      },
      onTooLarge: () => {
        if (this.#isClosed) return;
        if (this.#opening === undefined) this.#events.onTooLarge();
        else
          this.#failWith(
            "too-large",
            `began its stream with an event of more than ${this.#httpClient.maxBytes} bytes.`,
          );
      },
      onInvalid: (reason) => {
        const failure = invalidResponseError(this.#httpClient, reason);
        if (this.#opening === undefined) this.#events.onInvalid(failure);
        else this.#fail(failure);
      },
      onEnd: () => this.#end(STREAM_ENDED),
    });
    return {
      data: (chunk) => {
        this.#events.onActivity();
        reader.data(chunk);
      },
      end: () => reader.end(),
    };
  }

  /** Only the first endpoint is used. Nothing, and above all no credentials, is sent to another origin. */
  #setEndpoint(data: string): void {
    if (this.#opening === undefined) return;
    const { address, origin } = this.#httpClient;
    if (data.length > MAX_ENDPOINT_LENGTH)
      return this.#failWith(
        "invalid-response",
        `sent an endpoint of more than ${MAX_ENDPOINT_LENGTH} characters.`,
      );
    const endpoint = URL.canParse(data, address) ? new URL(data, address) : undefined;
    if (endpoint?.origin === origin) {
      this.#opening.resolve(endpoint);
      this.#opening = undefined;
    } else if (endpoint === undefined) {
      this.#failWith("invalid-response", "sent an endpoint that is not a valid URL.");
    } else {
      const otherOrigin = this.#httpClient.redactor.excerpt(endpoint.origin);
      this.#failWith(
        "invalid-response",
        `named an endpoint on another origin, ${otherOrigin}, than its own, ${origin}. Nothing was sent there; if that is the server, use it as the url of the server.`,
      );
    }
  }

  #end(error: Error): void {
    if (this.#opening === undefined) {
      this.#events.onClosed((wasSent) => fromConnectionError(error, this.#httpClient, { wasSent }));
    } else if (this.#handler?.wasDispatched === true) {
      const failure = fromConnectionError(error, this.#httpClient, { wasSent: true });
      if (failure.kind === "invalid-response") this.#fail(failure);
      else this.#failWith("connection-lost", "ended its stream before the endpoint event.", error);
    } else this.#fail(fromConnectionError(error, this.#httpClient, { wasSent: false }));
  }

  #failWith(kind: McpRuntimeError["kind"], problem: string, cause?: Error): void {
    const { server, origin, redactor } = this.#httpClient;
    this.#fail(
      new McpRuntimeError(kind, `Server "${server}" at ${origin} ${problem}`, {
        server,
        ...(cause === undefined ? {} : { cause: redactor.redactCause(cause) }),
      }),
    );
  }

  #fail(failure: McpRuntimeError): void {
    this.#stop();
    this.#opening?.reject(failure);
    this.#opening = undefined;
  }

  /** The rest of the chunk that is currently being parsed is ignored, too. */
  #stop(): void {
    this.#isClosed = true;
    this.#handler?.abort();
  }
}
