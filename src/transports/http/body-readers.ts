import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../async/clock.js";
import type { BodyReader, ResponseHeaders } from "../../net/http-request.js";
import { decodeUtf8 } from "../json-rpc.js";

export const discardBody: BodyReader = { data: () => undefined, end: () => undefined };

const BYTE_ORDER_MARK = /^\uFEFF/;

interface BufferedReaderEvents {
  readonly onBytes: (bytes: Buffer) => void;
  /** The body is longer than `maxBytes`; the bytes received so far are discarded. */
  readonly onTooLarge: () => void;
}

/** Collects a whole body. */
export class BufferedReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: BufferedReaderEvents;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number, events: BufferedReaderEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#chunks.push(chunk);
    if (this.#size <= this.#maxBytes) return;
    this.#chunks = [];
    this.#events.onTooLarge();
  }

  end(): void {
    this.#events.onBytes(concat(this.#chunks));
  }
}

/** How much of an error page is read, and for how long. */
const MAX_PREFIX_BYTES = 16 * 1024;
const MAX_PREFIX_MS = 1_000;

/** Collects the beginning of a body, limited in size and time. */
export class PrefixReader implements BodyReader {
  readonly #onText: (text: string) => void;
  readonly #cancelTimer: () => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #isDone = false;

  constructor(clock: Clock, onText: (text: string) => void) {
    this.#onText = onText;
    this.#cancelTimer = clock.after(MAX_PREFIX_MS, () => this.end());
  }

  data(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#chunks.push(chunk.subarray(0, MAX_PREFIX_BYTES - this.#size));
    this.#size += chunk.length;
    if (this.#size >= MAX_PREFIX_BYTES) this.end();
  }

  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#cancelTimer();
    this.#onText(toText(concat(this.#chunks)));
  }
}

function concat(chunks: readonly Buffer[]): Buffer {
  const [first, second] = chunks;
  return first !== undefined && second === undefined ? first : Buffer.concat(chunks);
}

export function toText(bytes: Buffer): string {
  return decodeUtf8(bytes).replace(BYTE_ORDER_MARK, "");
}

interface EventStreamEvents {
  /** The data of one `message` event. */
  readonly onData: (data: string) => void;
  /** An event with another name. */
  readonly onNamedEvent?: (event: string, data: string) => void;
  readonly onEnd: () => void;
  /** One event is longer than `maxBytes`; the stream cannot be read any further. */
  readonly onTooLarge: () => void;
}

/** The longest UTF-8 encoding of one UTF-16 code unit. */
const MAX_CHARACTER_BYTES = 3;

/** Servers accept 16 KB of headers or less. */
const MAX_EVENT_ID_LENGTH = 4_096;

/** Whether an event id can be sent in the header that resumes a stream. */
function isHeaderValue(id: string): boolean {
  return id.length <= MAX_EVENT_ID_LENGTH && /^[\t\x20-\x7e\x80-\xff]*$/.test(id);
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const EMPTY = Buffer.alloc(0);
/** The name of the field before the data of an event. */
const FIELD_BYTES = "data: ".length;

/**
 * Reads server-sent events, and keeps what is needed to resume the stream. The parser receives whole lines: it would
 * copy those that arrive in several chunks once more.
 */
export class EventStreamReader implements BodyReader {
  readonly #maxBytes: number;
  readonly #events: EventStreamEvents;
  readonly #parser: EventSourceParser;
  /** The beginning of a line whose end was not received yet. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  #isFirst = true;
  /** Something was too large: nothing more is read. */
  #isUnreadable = false;
  lastEventId: string | undefined;
  /** How long the server asks clients to wait before they reconnect. */
  retryMs: number | undefined;

  constructor(maxBytes: number, events: EventStreamEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.#parser = createParser({
      // Counts characters, of which there are never more than bytes.
      maxBufferSize: maxBytes,
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.#onTooLarge();
      },
      onEvent: ({ id, event = "message", data }) => {
        if (id !== undefined && id !== "") this.lastEventId = isHeaderValue(id) ? id : undefined;
        if (data === "") return;
        if (this.#isTooLarge(data)) this.#onTooLarge();
        else if (event === "message") this.#events.onData(data);
        else this.#events.onNamedEvent?.(event, data);
      },
      onRetry: (ms) => {
        this.retryMs = ms;
      },
    });
  }

  data(chunk: Buffer): void {
    if (this.#isUnreadable || chunk.length === 0) return;
    if (this.#line.at(-1)?.at(-1) === CARRIAGE_RETURN && chunk[0] !== LINE_FEED) this.#feed(EMPTY);
    const end = findLinesEnd(chunk);
    if (end > 0) this.#feed(end === chunk.length ? chunk : chunk.subarray(0, end));
    if (end < chunk.length && !this.#isUnreadable) this.#keep(chunk.subarray(end));
  }

  end(): void {
    this.#events.onEnd();
  }

  #feed(lines: Buffer): void {
    const bytes = this.#line.length === 0 ? lines : Buffer.concat([...this.#line, lines]);
    if (this.#line.length > 0) this.#line = [];
    this.#lineBytes = 0;
    const text = this.#isFirst ? toText(bytes) : decodeUtf8(bytes);
    // The parser would wait for the line feed that may follow the last carriage return.
    this.#parser.feed(text.endsWith("\r") ? text.replaceAll(/\r\n?/g, "\n") : text);
    this.#isFirst = false;
  }

  #keep(line: Buffer): void {
    this.#line.push(line);
    this.#lineBytes += line.length;
    if (this.#lineBytes > this.#maxBytes + FIELD_BYTES) this.#onTooLarge();
  }

  #onTooLarge(): void {
    this.#isUnreadable = true;
    this.#line = [];
    this.#events.onTooLarge();
  }

  #isTooLarge(data: string): boolean {
    return (
      data.length * MAX_CHARACTER_BYTES > this.#maxBytes && Buffer.byteLength(data, "utf8") > this.#maxBytes
    );
  }
}

/** Returns the end of the last whole line. No byte of a longer UTF-8 sequence is a line end. */
function findLinesEnd(chunk: Buffer): number {
  // The last byte may be the first half of a line end.
  const from = chunk.at(-1) === CARRIAGE_RETURN ? -2 : -1;
  return Math.max(chunk.lastIndexOf(LINE_FEED, from), chunk.lastIndexOf(CARRIAGE_RETURN, from)) + 1;
}

export function hasContentType(headers: ResponseHeaders, type: string): boolean {
  return getContentType(headers).toLowerCase().startsWith(type);
}

/** Returns how a body is compressed. Requests ask for no compression, but some servers ignore that. */
export function getContentEncoding(headers: ResponseHeaders): string | undefined {
  const encoding = headers["content-encoding"];
  return typeof encoding === "string" && encoding !== "identity" ? encoding : undefined;
}

export function describeContent(headers: ResponseHeaders): string {
  const type = getContentType(headers);
  return type === "" ? "without content" : `with "${type}"`;
}

function getContentType(headers: ResponseHeaders): string {
  return String(headers["content-type"] ?? "");
}
