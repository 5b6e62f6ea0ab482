import type { Writable } from "node:stream";

/** A line on its way out. */
export interface OutgoingLine {
  /** Whether a byte of it may have reached the other side. */
  readonly isSent: boolean;
}

interface WaitingLine {
  isSent: boolean;
  readonly text: string;
  readonly onDone: () => void;
}

/**
 * Writes one line after the other, as fast as the other side reads. What waits for its turn has not
 * been sent, and can be taken back.
 */
export class LineWriter {
  readonly #stream: Writable;
  readonly #waiting = new Set<WaitingLine>();
  #isWriting = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** `onDone` is told when it has left, or will never leave. */
  write(text: string, onDone: () => void = () => undefined): OutgoingLine {
    const line: WaitingLine = { text, onDone, isSent: false };
    this.#waiting.add(line);
    this.#writeNext();
    return line;
  }

  /** Does nothing once it is being written. */
  takeBack(line: OutgoingLine): void {
    const waiting = line as WaitingLine;
    if (this.#waiting.delete(waiting)) waiting.onDone();
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    const [line] = this.#waiting;
    if (line === undefined) return;
    this.#waiting.delete(line);
    this.#isWriting = true;
    this.#stream.write(`${line.text}\n`, () => {
      this.#isWriting = false;
      line.onDone();
      this.#writeNext();
    });
    // Refused at once, not a byte of it has left: nobody was there to take it.
    line.isSent = this.#stream.writable;
  }
}
