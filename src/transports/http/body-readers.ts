import { StringDecoder } from "node:string_decoder";
import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../async/clock.js";
import type { BodyReader } from "../../net/http-request.js";

/** Discards what comes. */
export const ignoreBody: BodyReader = { data: () => undefined, end: () => undefined };

const BYTE_ORDER_MARK = /^\uFEFF/;

interface BytesEvents {
  readonly onBytes: (bytes: Buffer) => void;
  /** The body is longer than `maxBytes`; what came so far is given up. */
  readonly onTooLarge: () => void;
}

/** Collects a whole body. */
export class BytesReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: BytesEvents;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, events: BytesEvents) {
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
    this.#events.onBytes(joined(this.#chunks));
  }
}

/** What is read of an error page, and how long it may take. */
const MAX_BEGINNING_BYTES = 16 * 1024;
const MAX_BEGINNING_MS = 1_000;

/** Collects the beginning of a body: what comes in a short time, and no more than is worth reading. */
export class BeginningReader implements BodyReader {
  readonly #onText: (text: string) => void;
  readonly #stopTimer: () => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isDone = false;

  constructor(clock: Clock, onText: (text: string) => void) {
    this.#onText = onText;
    this.#stopTimer = clock.after(MAX_BEGINNING_MS, () => this.end());
  }

  data(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#chunks.push(chunk.subarray(0, MAX_BEGINNING_BYTES - this.#bytes));
    this.#bytes += chunk.length;
    if (this.#bytes >= MAX_BEGINNING_BYTES) this.end();
  }

  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#stopTimer();
    this.#onText(toText(joined(this.#chunks)));
  }
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first, second] = chunks;
  return first !== undefined && second === undefined ? first : Buffer.concat(chunks);
}

export function toText(bytes: Buffer): string {
  return bytes.toString("utf8").replace(BYTE_ORDER_MARK, "");
}

interface EventStreamEvents {
  /** The data of one `message` event. */
  readonly onData: (data: string) => void;
  /** An event of another name. */
  readonly onOther?: (event: string, data: string) => void;
  readonly onEnd: () => void;
  /** One message is longer than `maxBytes`; nothing more may be read. */
  readonly onTooLarge: () => void;
}

/** The longest that a character can be in UTF-8, of those that are one character of a string. */
const MAX_CHARACTER_BYTES = 3;

/** Reads server-sent events; remembers what is needed to resume. */
export class EventStreamReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: EventStreamEvents;
  readonly #decoder = new StringDecoder("utf8");
  readonly #parser: EventSourceParser;
  #isFirst = true;
  lastEventId: string | undefined;
  /** How long the server asks us to wait before we come back. */
  retryMs: number | undefined;

  constructor(maxBytes: number, events: EventStreamEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#parser = createParser({
      // Characters: whatever has more of them has more bytes as well.
      maxBufferSize: maxBytes,
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.#events.onTooLarge();
      },
      onEvent: ({ id, event = "message", data }) => {
        if (id !== undefined && id !== "") this.lastEventId = id;
        if (data === "") return;
        if (this.#isTooLarge(data)) this.#events.onTooLarge();
        else if (event === "message") this.#events.onData(data);
        else this.#events.onOther?.(event, data);
      },
      onRetry: (ms) => {
        this.retryMs = ms;
      },
    });
  }

  data(chunk: Buffer): void {
    const text = this.#decoder.write(chunk);
    this.#parser.feed(this.#isFirst ? text.replace(BYTE_ORDER_MARK, "") : text);
    this.#isFirst = this.#isFirst && text === "";
  }

  end(): void {
    this.#events.onEnd();
  }

  #isTooLarge(data: string): boolean {
    return (
      data.length * MAX_CHARACTER_BYTES > this.#maxBytes && Buffer.byteLength(data, "utf8") > this.#maxBytes
    );
  }
}
