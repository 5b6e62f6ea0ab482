import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { BodyReader } from "./http-exchange.js";

/** Discards what comes. */
export const ignoreBody: BodyReader = { data: () => undefined, end: () => undefined };

interface TextEvents {
  readonly onText: (text: string) => void;
  /** The body is longer than `maxBytes`; what came so far is given up. */
  readonly onTooLarge: () => void;
}

/** Collects a whole body. */
export class TextReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: TextEvents;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, events: TextEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    if (this.#bytes <= this.#maxBytes) return;
    this.#chunks = [];
    this.#events.onTooLarge();
  }

  end(): void {
    const [first, second] = this.#chunks;
    const body = second === undefined ? first : Buffer.concat(this.#chunks, this.#bytes);
    this.#events.onText(body?.toString("utf8") ?? "");
  }
}

interface EventStreamEvents {
  /** The data of one `message` event. */
  readonly onData: (data: string) => void;
  readonly onEnd: () => void;
  /** One message is longer than `maxBytes`. */
  readonly onTooLarge: () => void;
}

/** Reads server-sent events; remembers what is needed to resume. */
export class EventStreamReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: EventStreamEvents;
  readonly #decoder = new StringDecoder("utf8");
  readonly #parser: EventSourceParser;
  #unfinishedBytes = 0;
  lastEventId: string | undefined;
  /** How long the server asks us to wait before we come back. */
  retryMs: number | undefined;

  constructor(maxBytes: number, events: EventStreamEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#parser = createParser({
      onEvent: ({ id, event, data }) => {
        this.#unfinishedBytes = 0;
        if (id !== undefined && id !== "") this.lastEventId = id;
        if (data === "" || (event !== undefined && event !== "message")) return;
        if (data.length > this.#maxBytes) this.#events.onTooLarge();
        else this.#events.onData(data);
      },
      onRetry: (ms) => {
        this.retryMs = ms;
      },
      onComment: () => {
        this.#unfinishedBytes = 0;
      },
    });
  }

  data(chunk: Buffer): void {
    this.#unfinishedBytes += chunk.length;
    this.#parser.feed(this.#decoder.write(chunk));
    if (this.#unfinishedBytes > this.#maxBytes) this.#events.onTooLarge();
  }

  end(): void {
    this.#events.onEnd();
  }
}
