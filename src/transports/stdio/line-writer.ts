import type { Writable } from "node:stream";

/** A queued or written line. */
export interface LineHandle {
  /** Whether any byte of it may have reached the reader. */
  readonly isSent: boolean;
}

interface QueuedLine {
  isSent: boolean;
  readonly text: string;
  readonly onDone: () => void;
}

/**
 * Writes one line at a time, as fast as the reader reads. Queued lines have not been sent and can be
 * cancelled.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #queue = new Set<QueuedLine>();
  #isWriting = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** `onDone` is called when the line was written, or will never be. */
  write(text: string, onDone: () => void = () => undefined): LineHandle {
    const line: QueuedLine = { text, onDone, isSent: false };
    this.#queue.add(line);
    this.#writeNext();
    return line;
  }

  /** Removes a queued line. Has no effect once it is being written. */
  cancel(line: LineHandle): void {
    const queued = line as QueuedLine;
    if (this.#queue.delete(queued)) queued.onDone();
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    const [line] = this.#queue;
    if (line === undefined) return;
    this.#queue.delete(line);
    this.#isWriting = true;
    this.#stream.write(`${line.text}\n`, () => {
      this.#isWriting = false;
      line.onDone();
      this.#writeNext();
    });
    // If the stream is not writable now, it rejected the line synchronously and sent no byte of it.
    line.isSent = this.#stream.writable;
  }
}
