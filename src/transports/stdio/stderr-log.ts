import type { Clock } from "../../async/clock.js";
import type { Redactor } from "../../errors/redaction.js";
import { toReadable } from "../../errors/sanitize-text.js";
import type { Logger } from "../../telemetry/logger.js";
import { LineReader } from "./line-reader.js";

interface StderrLogOptions {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info">;
  readonly decode: (bytes: Buffer) => string;
}

/** The longest line that is kept, and how much of it is shown. */
const MAX_LINE_BYTES = 16 * 1024;
const MAX_SHOWN_CHARACTERS = 1_000;
/** How many lines an error shows. */
const LAST_LINES = 10;
/** How many lines a second go to the logger: a server that floods must not flood its client. */
const LINES_A_SECOND = 100;
const SECOND_MS = 1_000;

/** What a server says on stderr: line by line to the logger, and the last of it for errors. */
export class StderrLog {
  readonly #options: StderrLogOptions;
  readonly #reader: LineReader;
  #lastLines: string[] = [];
  #secondBegan = Number.NEGATIVE_INFINITY;
  #linesThisSecond = 0;
  #leftOut = 0;

  constructor(options: StderrLogOptions) {
    this.#options = options;
    this.#reader = new LineReader(
      { maxBytes: MAX_LINE_BYTES },
      { onLine: (line) => this.#take(line), onLongLine: ({ head }) => this.#take(head) },
    );
  }

  data(chunk: Buffer): void {
    this.#reader.data(chunk);
  }

  end(): void {
    this.#reader.end();
    this.#tellLeftOut();
  }

  /** As an error may show them. */
  get lastLines(): string[] {
    return this.#lastLines.map((line) => this.#shown(line));
  }

  #take(bytes: Buffer): void {
    const line = this.#options.decode(bytes).trimEnd();
    if (line === "") return;
    this.#lastLines = [...this.#lastLines.slice(1 - LAST_LINES), line];
    if (this.#mayTell()) this.#tell(this.#shown(line));
    else this.#leftOut += 1;
  }

  #mayTell(): boolean {
    const now = this.#options.clock.now();
    if (now - this.#secondBegan >= SECOND_MS) {
      this.#tellLeftOut();
      this.#secondBegan = now;
      this.#linesThisSecond = 0;
    }
    this.#linesThisSecond += 1;
    return this.#linesThisSecond <= LINES_A_SECOND;
  }

  #tellLeftOut(): void {
    if (this.#leftOut > 0) this.#tell(`(${this.#leftOut} more lines, left out)`);
    this.#leftOut = 0;
  }

  #tell(text: string): void {
    this.#options.log.info(`Server "${this.#options.server}" on stderr: ${text}`);
  }

  /** Secrets go before anything is cut: half of one is still too much. */
  #shown(line: string): string {
    const text = toReadable(this.#options.redactor.text(line));
    return text.length <= MAX_SHOWN_CHARACTERS
      ? text
      : `${text.slice(0, MAX_SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, "")}…`;
  }
}
