const LINE_FEED = 0x0a;
/** How much is kept of the beginning and of the end of a line that is too long. */
const KEPT_BYTES = 4 * 1024;
/** A larger buffer is given back once its line has been read. */
const KEPT_BUFFER_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

/** What is left of a line that was too long to be kept. */
export interface LongLine {
  readonly head: Buffer;
  readonly tail: Buffer;
}

interface LineEvents {
  /** Without its line break. The bytes are lent: they are others after this call. */
  readonly onLine: (line: Buffer) => void;
  /** A line of more than `maxBytes` has come to its end; its middle was thrown away. */
  readonly onLongLine: (line: LongLine) => void;
  /** So much of one line has been thrown away that its end is not worth waiting for. Told once. */
  readonly onEndlessLine?: () => void;
}

export interface LineLimits {
  readonly maxBytes: number;
  /** How much of one line is thrown away in the hope of its end. */
  readonly maxSkippedBytes?: number;
}

/** Cuts bytes into lines. However long a line is, it costs no more memory than `maxBytes`. */
export class LineReader {
  readonly #limits: LineLimits;
  readonly #events: LineEvents;
  /** The beginning of a line whose end has not come: the first `#length` bytes. */
  #buffer = NOTHING;
  #length = 0;
  /** What is kept of a line that is too long, while its end is looked for. */
  #long: { readonly head: Buffer; tail: Buffer } | undefined;
  #skippedBytes = 0;

  constructor(limits: LineLimits, events: LineEvents) {
    this.#limits = limits;
    this.#events = events;
  }

  data(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#add(chunk.subarray(start, end), "whole");
      start = end + 1;
    }
    if (start < chunk.length) this.#add(chunk.subarray(start), "part");
  }

  /** A last line may lack its line break. */
  end(): void {
    if (this.#length > 0 || this.#long !== undefined) this.#add(NOTHING, "whole");
  }

  /** The rest of a line, or a part of it. */
  #add(bytes: Buffer, which: "whole" | "part"): void {
    if (this.#long !== undefined) this.#skip(bytes);
    else if (this.#length + bytes.length > this.#limits.maxBytes) this.#startSkipping(bytes);
    else if (which === "whole" && this.#length === 0) return this.#events.onLine(bytes);
    else this.#keep(bytes);
    if (which === "whole") this.#finish();
  }

  #keep(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      // Parts are copied together at once: a server that writes byte by byte costs no object a byte.
      const size = Math.min(Math.max(length, this.#buffer.length * 2), this.#limits.maxBytes);
      const grown = Buffer.allocUnsafe(size);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #startSkipping(bytes: Buffer): void {
    const kept = this.#buffer.subarray(0, this.#length);
    const head = Buffer.concat([kept.subarray(0, KEPT_BYTES), bytes.subarray(0, KEPT_BYTES)]);
    this.#long = { head: head.subarray(0, KEPT_BYTES), tail: Buffer.from(kept.subarray(-KEPT_BYTES)) };
    this.#skip(bytes);
    this.#clear();
  }

  #skip(bytes: Buffer): void {
    const long = this.#long;
    if (long === undefined) return;
    const last = bytes.subarray(-KEPT_BYTES);
    long.tail = Buffer.concat([long.tail.subarray(last.length - KEPT_BYTES), last]).subarray(-KEPT_BYTES);
    const { maxSkippedBytes = Number.POSITIVE_INFINITY } = this.#limits;
    const wasHopeful = this.#skippedBytes <= maxSkippedBytes;
    this.#skippedBytes += bytes.length;
    if (wasHopeful && this.#skippedBytes > maxSkippedBytes) this.#events.onEndlessLine?.();
  }

  #finish(): void {
    const long = this.#long;
    const line = this.#buffer.subarray(0, this.#length);
    this.#long = undefined;
    this.#skippedBytes = 0;
    this.#clear();
    if (long === undefined) this.#events.onLine(line);
    else this.#events.onLongLine(long);
  }

  #clear(): void {
    this.#length = 0;
    if (this.#buffer.length > KEPT_BUFFER_BYTES) this.#buffer = NOTHING;
  }
}
