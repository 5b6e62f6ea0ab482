import { ChunkCollector } from "../chunk-collector.js";

const LINE_FEED = 0x0a;
/** How much of the start and of the end of an oversized line is kept. */
const EXCERPT_BYTES = 4 * 1024;
const EMPTY = Buffer.alloc(0);

/** The start and the end of an oversized line. */
export interface TruncatedLine {
  readonly head: Buffer;
  readonly tail: Buffer;
}

interface LineEvents {
  /** Called without the line break. The bytes are valid until the callback returns. */
  readonly onLine: (line: Buffer) => void;
  /** Called at the end of a line of more than `maxBytes`, whose middle was skipped. */
  readonly onTruncatedLine: (line: TruncatedLine) => void;
  /** Called once per line when more than `maxSkippedBytes` of it were skipped. */
  readonly onUnboundedLine?: () => void;
}

export interface LineLimits {
  readonly maxBytes: number;
  /** How much of one line is skipped before `onUnboundedLine` is called. */
  readonly maxSkippedBytes?: number;
}

/** Splits bytes into lines. A line never takes more memory than `maxBytes`. */
export class LineReader {
  readonly #limits: LineLimits;
  readonly #events: LineEvents;
  /** The start of an incomplete line. */
  readonly #line = new ChunkCollector();
  /** The excerpt of an oversized line whose end has not been received. */
  #truncated: { readonly head: Buffer; tail: Buffer } | undefined;
  #skippedBytes = 0;

  constructor(limits: LineLimits, events: LineEvents) {
    this.#limits = limits;
    this.#events = events;
  }

  data(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#add(chunk.subarray(start, end), "end");
      start = end + 1;
    }
    if (start < chunk.length) this.#add(chunk.subarray(start), "part");
  }

  /** The last line may have no line break. */
  end(): void {
    if (this.#line.size > 0 || this.#truncated !== undefined) this.#add(EMPTY, "end");
  }

  /** Adds the end of a line, or a part of it. */
  #add(bytes: Buffer, piece: "end" | "part"): void {
    if (this.#truncated !== undefined) this.#skip(bytes);
    else if (this.#line.size + bytes.length > this.#limits.maxBytes) this.#startSkipping(bytes);
    else if (piece === "end" && this.#line.size === 0) return this.#events.onLine(bytes);
    else this.#line.add(bytes);
    if (piece === "end") this.#finishLine();
  }

  #startSkipping(bytes: Buffer): void {
    const buffered = this.#line.take();
    const head = Buffer.concat([buffered.subarray(0, EXCERPT_BYTES), bytes.subarray(0, EXCERPT_BYTES)]);
    this.#truncated = {
      head: head.subarray(0, EXCERPT_BYTES),
      tail: Buffer.from(buffered.subarray(-EXCERPT_BYTES)),
    };
    this.#skip(bytes);
  }

  #skip(bytes: Buffer): void {
    const truncated = this.#truncated;
    if (truncated === undefined) return;
    const last = bytes.subarray(-EXCERPT_BYTES);
    truncated.tail = Buffer.concat([truncated.tail.subarray(last.length - EXCERPT_BYTES), last]).subarray(
      -EXCERPT_BYTES,
    );
    const { maxSkippedBytes = Number.POSITIVE_INFINITY } = this.#limits;
    const wasBelowLimit = this.#skippedBytes <= maxSkippedBytes;
    this.#skippedBytes += bytes.length;
    if (wasBelowLimit && this.#skippedBytes > maxSkippedBytes) this.#events.onUnboundedLine?.();
  }

  #finishLine(): void {
    const truncated = this.#truncated;
    if (truncated === undefined) return this.#events.onLine(this.#line.take());
    this.#truncated = undefined;
    this.#skippedBytes = 0;
    this.#events.onTruncatedLine(truncated);
  }
}
