import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import { EventStreamReader, ignoreBody } from "./body-readers.js";
import { describeContent, encodingOf, isOfType } from "./content-headers.js";
import type { BodyReader, HttpRequestHandler, ResponseHeaders } from "../../net/http-request.js";
import { STREAM_ENDED, toConnectionFailure } from "./http-errors.js";
import type { HttpWire } from "./mcp-http-client.js";

interface EndpointStreamEvents {
  /** Something came, whatever it is. */
  readonly onHeard: () => void;
  /** The data of one message. */
  readonly onData: (data: string) => void;
  /** It was open, and is over: what that is to a request that the server may have seen, or may not. */
  readonly onLost: (toFailure: (wasSent: boolean) => McpRuntimeError) => void;
  /** One message is larger than the limit. */
  readonly onTooLarge: () => void;
}

/**
 * The stream of a legacy SSE server. Its first event names the endpoint, where messages are posted;
 * everything that the server says comes after it. It is not resumed: the session ends with it.
 */
export class EndpointStream {
  readonly #wire: HttpWire;
  readonly #events: EndpointStreamEvents;
  #exchange: HttpRequestHandler | undefined;
  #isStreaming = false;
  #isOver = false;
  /** Settles `open()`; gone once it has. */
  #opening: { resolve(endpoint: URL): void; reject(failure: McpRuntimeError): void } | undefined;

  constructor(wire: HttpWire, events: EndpointStreamEvents) {
    this.#wire = wire;
    this.#events = events;
  }

  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** The endpoint, once it is known: always of the server's own origin. */
  open(): Promise<URL> {
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#exchange = this.#wire.get(undefined, {
        onHead: (status, headers) => this.#readResponse(status, headers),
        onBroken: (error) => this.#end(error),
      });
    });
  }

  /** Nothing is heard of it afterwards. */
  close(): void {
    if (this.#opening === undefined) this.#stop();
    else this.#refuse("closed", "was not waited for any longer.");
  }

  #readResponse(status: number, headers: ResponseHeaders): BodyReader {
    if (status > 299) {
      return this.#wire.readFailure({ status, headers, hadSession: false }, (failure) => this.#fail(failure));
    }
    const encoding = encodingOf(headers);
    const isStream = isOfType(headers, "text/event-stream");
    if (isStream && encoding === undefined) return this.#read();
    const found = isStream ? `with a compressed stream (${encoding})` : describeContent(headers);
    const said = quoteServer(this.#wire.redactor.text(found));
    this.#refuse(
      "invalid-response",
      `answered HTTP ${status} ${said} where a stream of events was expected.`,
    );
    return ignoreBody;
  }

  #read(): BodyReader {
    this.#isStreaming = true;
    const reader = new EventStreamReader(this.#wire.maxBytes, {
      onData: (data) => {
        if (this.#isOver) return;
        if (this.#opening === undefined) this.#events.onData(data);
        else this.#refuse("invalid-response", "streams messages before it names the endpoint for ours.");
      },
      onOther: (event, data) => {
        if (event === "endpoint") this.#nameEndpoint(data);
      },
      onTooLarge: () => {
        if (this.#isOver) return;
        if (this.#opening === undefined) this.#events.onTooLarge();
        else this.#refuse("too-large", `began its stream with more than ${this.#wire.maxBytes} bytes.`);
      },
      onEnd: () => this.#end(STREAM_ENDED),
    });
    return {
      data: (chunk) => {
        this.#events.onHeard();
        reader.data(chunk);
      },
      end: () => reader.end(),
    };
  }

  /** The first one counts. Nothing, and no credentials, goes to another origin than the server's own. */
  #nameEndpoint(data: string): void {
    if (this.#opening === undefined) return;
    const { address, origin } = this.#wire;
    const endpoint = URL.canParse(data, address) ? new URL(data, address) : undefined;
    if (endpoint?.origin === origin) {
      this.#opening.resolve(endpoint);
      this.#opening = undefined;
    } else if (endpoint === undefined) {
      this.#refuse("invalid-response", "names an endpoint for messages that is no address.");
    } else {
      const other = quoteServer(this.#wire.redactor.text(endpoint.origin));
      this.#refuse(
        "invalid-response",
        `wants its messages at another origin, ${other}, than its own, ${origin}. Nothing was sent there; if that is where the server is, write it in the definition.`,
      );
    }
  }

  #end(error: Error): void {
    if (this.#opening === undefined) {
      this.#events.onLost((wasSent) => toConnectionFailure(error, wasSent, this.#wire));
    } else if (this.#exchange?.isStarted === true) {
      this.#refuse("connection-lost", "ended its stream before it named the endpoint for messages.", error);
    } else this.#fail(toConnectionFailure(error, false, this.#wire));
  }

  #refuse(kind: McpRuntimeError["kind"], what: string, cause?: Error): void {
    const { server, origin, redactor } = this.#wire;
    this.#fail(
      new McpRuntimeError(kind, `Server "${server}" at ${origin} ${what}`, {
        server,
        ...(cause === undefined ? {} : { cause: redactor.cause(cause) }),
      }),
    );
  }

  #fail(failure: McpRuntimeError): void {
    this.#stop();
    this.#opening?.reject(failure);
    this.#opening = undefined;
  }

  /** What is left of the chunk that is just being read is not heard, either. */
  #stop(): void {
    this.#isOver = true;
    this.#exchange?.stop();
  }
}
