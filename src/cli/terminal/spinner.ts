import { canRedraw, columnsOf, type Terminal } from "./terminal.js";
import { cutToWidth } from "./text-width.js";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 100;
const ERASE = "\r\u001b[2K";

/**
 * One line that tells what is being waited for, drawn again and again and gone at the end. Where
 * nobody looks there is none. Whatever else goes to stderr goes through `log`, so that neither tears the other.
 */
export class LiveLine {
  readonly #terminal: Terminal;
  readonly #isShown: boolean;
  #text: (() => string) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(terminal: Terminal, { isQuiet }: { readonly isQuiet: boolean }) {
    this.#terminal = terminal;
    this.#isShown = !isQuiet && canRedraw(terminal);
  }

  /** Shown until the function that comes back is called. The text is asked for every time it is drawn. */
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

  /** A line that stays. */
  log(line: string): void {
    const isLive = this.#text !== undefined;
    this.#terminal.stderr.write(`${isLive ? ERASE : ""}${line}\n`);
    if (isLive) this.#draw();
  }

  #draw(): void {
    if (this.#text === undefined) return;
    const { stderr } = this.#terminal;
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? "";
    // A line that fills the last column has wrapped, and cannot be erased.
    stderr.write(`${ERASE}${cutToWidth(`${frame} ${this.#text()}`, columnsOf(stderr) - 1)}`);
  }
}
