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
/** How many lines an error includes: those that look like an error, and the last ones. */
const MAX_ERROR_LINES = 4;
const MAX_LAST_LINES = 3;
/** Words of error messages in most programming languages and shells. */
const ERROR_LINE =
  /(?:error|exception|fatal|panic|denied|refused|invalid|missing|required|unauthorized|traceback)|\b(?:fail(?:ed|ure)?|cannot|can't|could not|unable|unknown|not (?:found|set|exist|installed))\b/i;
/**
 * Stack frames, source code and the options of a usage text are indented; Node prints its version last. A line without a
 * letter or digit is the end of a printed object, or a separator.
 */
const DETAIL_LINE =
  /^(?:\s|[^\p{L}\p{N}]+$|node:internal|Node\.js v\d|Traceback \(|goroutine \d|-{1,2}\w|.{0,200}\.[cm]?[jt]s:\d+$)/u;
/** Rate limit, so that a server cannot flood the logger. */
const MAX_LINES_PER_SECOND = 100;
const SECOND_MS = 1_000;

/** Logs the stderr output of a server line by line, and keeps the last lines for errors. */
export class StderrLog {
  readonly #options: StderrLogOptions;
  readonly #reader: LineReader;
  #errorLines: string[] = [];
  #lastLines: string[] = [];
  #lastDetails: string[] = [];
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

  /** What an error shows: the lines that look like an error, then the last ones. Redacted and shortened. */
  get summary(): string[] {
    const lines = [...this.#errorLines, ...this.#lastLines];
    return (lines.length === 0 ? this.#lastDetails : lines).map((line) => this.#sanitize(line));
  }

  #onLine(bytes: Buffer): void {
    const line = this.#options.decode(bytes).trimEnd();
    if (line === "") return;
    if (DETAIL_LINE.test(line)) this.#lastDetails = appendLast(this.#lastDetails, line, MAX_LAST_LINES);
    else if (ERROR_LINE.test(line)) this.#errorLines = appendLast(this.#errorLines, line, MAX_ERROR_LINES);
    else this.#lastLines = appendLast(this.#lastLines, line, MAX_LAST_LINES);
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

function appendLast(lines: readonly string[], line: string, max: number): string[] {
  return [...lines.slice(1 - max), line];
}
