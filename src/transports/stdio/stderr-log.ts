import type { Clock } from "../../async/clock.js";
import type { Redactor } from "../../errors/redaction.js";
import type { Logger } from "../../telemetry/logger.js";
import { LineReader } from "./line-reader.js";

interface StderrLogOptions {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info">;
  readonly decode: (bytes: Buffer) => string;
}

/** How much of a line is kept, and how much of it is logged. */
const MAX_LINE_BYTES = 16 * 1024;
const MAX_LOGGED_LENGTH = 1_001;
/** How many lines an error includes. */
const MAX_LAST_LINES = 10;
/** Rate limit, so that a server cannot flood the logger. */
const MAX_LINES_PER_SECOND = 100;
const SECOND_MS = 1_000;

/** Logs the stderr output of a server line by line, and keeps the last lines for errors. */
export class StderrLog {
  readonly #options: StderrLogOptions;
  readonly #reader: LineReader;
  #lastLines: string[] = [];
  #windowStart = Number.NEGATIVE_INFINITY;
  #linesInWindow = 0;
  #dropped = 0;

  constructor(options: StderrLogOptions) {
    this.#options = options;
    this.#reader = new LineReader(
      { maxBytes: MAX_LINE_BYTES },
      { onLine: (line) => this.#onLine(line), onTruncatedLine: ({ head }) => this.#onLine(head) },
    );
  }

  data(chunk: Buffer): void {
    this.#reader.data(chunk);
  }

  end(): void {
    this.#reader.end();
    this.#logDropped();
  }

  /** Redacted and shortened. */
  get lastLines(): string[] {
    return this.#lastLines.map((line) => this.#sanitize(line));
  }

  #onLine(bytes: Buffer): void {
    const line = this.#options.decode(bytes).trimEnd();
    if (line === "") return;
    this.#lastLines = [...this.#lastLines.slice(1 - MAX_LAST_LINES), line];
    if (this.#isWithinRate()) this.#log(this.#sanitize(line));
    else this.#dropped += 1;
  }

  #isWithinRate(): boolean {
    const now = this.#options.clock.now();
    if (now - this.#windowStart >= SECOND_MS) {
      this.#logDropped();
      this.#windowStart = now;
      this.#linesInWindow = 0;
    }
    this.#linesInWindow += 1;
    return this.#linesInWindow <= MAX_LINES_PER_SECOND;
  }

  #logDropped(): void {
    if (this.#dropped > 0) this.#log(`(${this.#dropped} more lines omitted)`);
    this.#dropped = 0;
  }

  #log(text: string): void {
    this.#options.log.info(`Server "${this.#options.server}" on stderr: ${text}`);
  }

  #sanitize(line: string): string {
    return this.#options.redactor.sanitize(line, MAX_LOGGED_LENGTH);
  }
}
