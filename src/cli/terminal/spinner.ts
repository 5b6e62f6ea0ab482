import { canRedraw, getColumns, type Terminal } from "./terminal.js";
import { truncateToWidth } from "./text-format.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 100;
const ERASE = "\r\u001b[2K";

/**
 * A progress line on stderr, shown only on a terminal. Other output to stderr must use `log`, so that the two do
 * not overwrite each other.
 */
export class Spinner {
  readonly #terminal: Terminal;
  readonly #isShown: boolean;
  #text: (() => string) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(terminal: Terminal, { isQuiet }: { readonly isQuiet: boolean }) {
    this.#terminal = terminal;
    this.#isShown = !isQuiet && canRedraw(terminal);
  }

  /** Shows a line and returns a function that removes it. `text` is called for every frame. */
  show(text: () => string): () => void {
    if (!this.#isShown) return () => undefined;
    this.#text = text;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    this.#draw();
    return () => {
      if (this.#text !== text) return;
      clearInterval(this.#timer);
      this.#text = undefined;
      this.#terminal.stderr.write(ERASE);
    };
  }

  /** Prints a permanent line. */
  log(line: string): void {
    const isLive = this.#text !== undefined;
    this.#terminal.stderr.write(`${isLive ? ERASE : ""}${line}\n`);
    if (isLive) this.#draw();
  }

  #draw(): void {
    if (this.#text === undefined) return;
    const { stderr } = this.#terminal;
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? "";
    // A line that fills the last column wraps and could not be erased.
    stderr.write(`${ERASE}${truncateToWidth(`${frame} ${this.#text()}`, getColumns(stderr) - 1)}`);
  }
}
