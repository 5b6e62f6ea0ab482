import { createParser, type EventSourceParser } from "eventsource-parser";
import type { Clock } from "../../async/clock.js";
import type { BodyReader, ResponseHeaders } from "../../net/http-request.js";
import { tryParseJson } from "../../json/json.js";
import { ChunkCollector } from "../chunk-collector.js";
import { decodeUtf8 } from "../json-rpc.js";

export const discardBody: BodyReader = { data: () => undefined, end: () => undefined };

const BYTE_ORDER_MARK = /^\uFEFF/;

interface BufferedReaderOptions {
  readonly headers: ResponseHeaders;
  readonly maxBytes: number;
  /** The bytes are valid until the callback returns. */
  readonly onBytes: (bytes: Buffer) => void;
  /** The body is longer than `maxBytes`, perhaps only by its header; the bytes received so far are discarded. */
  readonly onTooLarge: () => void;
}

/** Collects a whole body. */
export class BufferedReader implements BodyReader {
  readonly #options: BufferedReaderOptions;
  readonly #chunks = new ChunkCollector();
  #isTooLarge = false;

  constructor(options: BufferedReaderOptions) {
    this.#options = options;
    this.#limit(Number(options.headers["content-length"] ?? 0));
  }

  data(chunk: Buffer): void {
    if (this.#isTooLarge) return;
    this.#chunks.add(chunk);
    this.#limit(this.#chunks.size);
  }

  end(): void {
    if (!this.#isTooLarge) this.#options.onBytes(this.#chunks.take());
  }

  #limit(bytes: number): void {
    this.#isTooLarge = bytes > this.#options.maxBytes;
    if (!this.#isTooLarge) return;
    this.#chunks.clear();
    this.#options.onTooLarge();
  }
}

/** How much of an error page is read, and for how long. */
const MAX_PREFIX_BYTES = 16 * 1024;
const MAX_PREFIX_MS = 1_000;

/** Collects the beginning of a body, limited in size and time. */
export class PrefixReader implements BodyReader {
  readonly #onText: (text: string) => void;
  readonly #cancelTimer: () => void;
  readonly #chunks = new ChunkCollector();
  #isDone = false;

  constructor(clock: Clock, onText: (text: string) => void) {
    this.#onText = onText;
    this.#cancelTimer = clock.after(MAX_PREFIX_MS, () => this.end());
  }

  data(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#chunks.add(chunk.subarray(0, MAX_PREFIX_BYTES - this.#chunks.size));
    if (this.#chunks.size >= MAX_PREFIX_BYTES) this.end();
  }

  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#cancelTimer();
    this.#onText(toText(this.#chunks.take()));
  }
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
  /** The text is not an event stream; it is not read any further. */
  readonly onInvalid: (reason: string) => void;
}

/** The parser creates an error for each of them. An event stream has none. */
const MAX_UNKNOWN_FIELDS = 100;
const UNKNOWN_FIELDS = new Error(`its event stream has ${MAX_UNKNOWN_FIELDS} unknown fields in a row`);

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
  readonly #line = new ChunkCollector();
  #isFirst = true;
  /** How many fields of the current chunk are unknown. */
  #unknownFields = 0;
  /** The last chunk ended with a carriage return: a line feed at the start of the next one belongs to it. */
  #skipsLineFeed = false;
  /** Something was too large: nothing more is read. */
  #isUnreadable = false;
  #hasEnded = false;
  lastEventId: string | undefined;
  /** How long the server asks clients to wait before they reconnect. */
  retryMs: number | undefined;

  /** @param interrupted - The reader of a stream that this one continues. */
  constructor(maxBytes: number, events: EventStreamEvents, interrupted?: EventStreamReader) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    this.lastEventId = interrupted?.lastEventId;
    this.retryMs = interrupted?.retryMs;
    this.#parser = createParser({
      // Counts characters, of which there are never more than bytes.
      maxBufferSize: maxBytes,
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.#onTooLarge();
        else this.#countUnknownField();
      },
      onEvent: ({ id, event = "message", data }) => {
        if (this.#hasEnded && tryParseJson(data) === undefined) return;
        if (!this.#hasEnded && id !== undefined && id !== "")
          this.lastEventId = isHeaderValue(id) ? id : undefined;
        if (data === "") return;
        if (this.#isTooLarge(data)) this.#onTooLarge();
        else if (event === "message") this.#events.onData(data);
        else this.#events.onNamedEvent?.(event, data);
      },
      onRetry: (ms) => {
        if (!this.#hasEnded) this.retryMs = ms;
      },
    });
  }

  data(chunk: Buffer): void {
    if (this.#isUnreadable || chunk.length === 0) return;
    const lines = this.#skipsLineFeed && chunk[0] === LINE_FEED ? chunk.subarray(1) : chunk;
    this.#skipsLineFeed = chunk.at(-1) === CARRIAGE_RETURN;
    const end = findLinesEnd(lines);
    if (end > 0) this.#feed(end === lines.length ? lines : lines.subarray(0, end));
    if (end < lines.length && !this.#isUnreadable) this.#keep(lines.subarray(end));
  }

  end(): void {
    this.#hasEnded = true;
    if (this.#isUnreadable) return;
    // Some servers omit the empty line after their last event. An event that was cut off is not JSON, but its id or retry
    // time may be cut off, too.
    this.#feed(Buffer.from("\n\n"));
    if (!this.#isUnreadable) this.#events.onEnd();
  }

  #feed(lines: Buffer): void {
    let bytes = lines;
    if (this.#line.size > 0) {
      this.#line.add(lines);
      bytes = this.#line.take();
    }
    const text = this.#isFirst ? toText(bytes) : decodeUtf8(bytes);
    this.#isFirst = false;
    this.#unknownFields = 0;
    try {
      this.#parser.feed(toLineFeeds(text));
    } catch (error) {
      if (error !== UNKNOWN_FIELDS) throw error;
      this.#isUnreadable = true;
      this.#events.onInvalid(UNKNOWN_FIELDS.message);
    }
  }

  /** Throws, so that the parser does not read the rest of the text. */
  #countUnknownField(): void {
    this.#unknownFields += 1;
    if (this.#unknownFields > MAX_UNKNOWN_FIELDS) throw UNKNOWN_FIELDS;
  }

  #keep(line: Buffer): void {
    this.#line.add(line);
    if (this.#line.size > this.#maxBytes + FIELD_BYTES) this.#onTooLarge();
  }

  #onTooLarge(): void {
    this.#isUnreadable = true;
    this.#line.clear();
    this.#events.onTooLarge();
  }

  #isTooLarge(data: string): boolean {
    return (
      data.length * MAX_CHARACTER_BYTES > this.#maxBytes && Buffer.byteLength(data, "utf8") > this.#maxBytes
    );
  }
}

/**
 * The parser searches the rest of the text for a carriage return at each line if there is one, and it would wait for the
 * line feed that may follow the last one.
 */
function toLineFeeds(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : text;
}

/** Returns the end of the last whole line. No byte of a longer UTF-8 sequence is a line end. */
function findLinesEnd(chunk: Buffer): number {
  return Math.max(chunk.lastIndexOf(LINE_FEED), chunk.lastIndexOf(CARRIAGE_RETURN)) + 1;
}

export function hasContentType(headers: ResponseHeaders, type: string): boolean {
  return getContentType(headers).toLowerCase().startsWith(type);
}

/** Returns how a body is compressed. Requests ask for no compression, but some servers ignore that. */
export function getContentEncoding(headers: ResponseHeaders): string | undefined {
  const encoding = headers["content-encoding"];
  return typeof encoding === "string" && encoding !== "identity" ? encoding : undefined;
}

/** Describes a response by its status and content type, for an error. */
export function describeContent(status: number, headers: ResponseHeaders): string {
  const type = getContentType(headers);
  const hint = /html/i.test(type) ? ", a web page; the URL should be that of an MCP endpoint" : "";
  if (type !== "") return `HTTP ${status} with "${type}"${hint}`;
  const isEmpty = status === 204 || headers["content-length"] === "0";
  return `HTTP ${status} without ${isEmpty ? "content" : "a content-type"}`;
}

function getContentType(headers: ResponseHeaders): string {
  return String(headers["content-type"] ?? "");
}
