import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { describeThrown } from "../errors/sanitize-text.js";
import { UsageError } from "./exit-codes.js";
import type { Severity } from "./report/finding.js";
import { escapeText, formatSeconds, truncateToWidth } from "./text-format.js";
import { createConsoleLogger } from "../telemetry/logger.js";

/** An output stream of the process. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The streams and environment of a command, passed as a parameter so that tests can replace them. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The current folder. */
  readonly cwd: string;
}

const MIN_WIDTH = 20;

/** Returns the width of a terminal; infinite for a pipe. */
function getColumns({ isTTY, columns }: OutputStream): number {
  if (isTTY !== true || columns === undefined || columns === 0) return Number.POSITIVE_INFINITY;
  return Math.max(MIN_WIDTH, columns);
}

/** Shortens a path: relative to the current folder or to the home folder if it is inside. */
export function displayPath(path: string, { cwd, env }: Pick<Terminal, "cwd" | "env">): string {
  const fromHere = relative(cwd, path);
  if (isBelow(fromHere)) return fromHere;
  const home = env["HOME"] ?? env["USERPROFILE"] ?? "";
  const fromHome = home === "" ? ".." : relative(home, path);
  return isBelow(fromHome) ? `~/${fromHome}` : path;
}

function isBelow(path: string): boolean {
  return path !== "" && !path.startsWith("..") && !isAbsolute(path);
}

/** The text styles, by the numbers that start and end them. Apply them after layout: the width functions would escape them. */
const STYLES = {
  success: [32, 39],
  error: [31, 39],
  warning: [33, 39],
  dim: [2, 22],
  bold: [1, 22],
} as const;
/**
 * Starts a style until it is written. It is random, so that a text of others cannot contain one: only what a page has
 * styled becomes an escape sequence, also where a text is not escaped before it becomes part of a line.
 */
const STYLE_MARK = `\u001b${randomUUID()}`;
const MARKED_STYLE = new RegExp(`${STYLE_MARK}(\\[\\d+m)`);

type Colors = Readonly<Record<keyof typeof STYLES, (text: string) => string>>;

/** Layout parameters of the output. */
export interface Page {
  readonly colors: Colors;
  readonly columns: number;
}

export function createPage(stream: OutputStream, env: Terminal["env"]): Page {
  const isColored = supportsColor(stream, env);
  const entries = Object.entries(STYLES).map(([name, [start, end]]) => {
    const apply = (text: string) => {
      const escaped = escapeText(text);
      return isColored && text !== "" ? `${STYLE_MARK}[${start}m${escaped}${STYLE_MARK}[${end}m` : escaped;
    };
    return [name, apply];
  });
  return { colors: Object.fromEntries(entries) as Colors, columns: getColumns(stream) };
}

/** Writes lines of output. Everything in them is escaped, except for the styles of a page. */
export function writeLines(stream: OutputStream, lines: readonly string[]): void {
  stream.write(`${lines.map((line) => renderStyles(line, escapeText)).join("\n")}\n`);
}

/** Writes lines for another program, unchanged except for the styles of a page. */
export function writeVerbatim(stream: OutputStream, lines: readonly string[]): void {
  stream.write(`${lines.map((line) => renderStyles(line, (text) => text)).join("\n")}\n`);
}

function renderStyles(line: string, toPrinted: (text: string) => string): string {
  const parts = line.split(MARKED_STYLE);
  return parts.map((part, index) => (index % 2 === 1 ? `\u001b${part}` : toPrinted(part))).join("");
}

/** Formats a JSON document. It stays the same document with escapes in its strings, so files and pipes get them, too. */
export function formatJson(document: unknown): string {
  return JSON.stringify(document, undefined, 2).split("\n").map(escapeText).join("\n");
}

/** Same order as Node: FORCE_COLOR, then NO_COLOR, then whether the stream is a terminal. */
function supportsColor(stream: OutputStream, env: Terminal["env"]): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return stream.isTTY === true && TERM !== "dumb";
}

export type Status = "ok" | Severity;

const SYMBOLS: Readonly<Record<Status, readonly [symbol: string, style: keyof Colors]>> = {
  ok: ["✓", "success"],
  error: ["✗", "error"],
  warning: ["!", "warning"],
  note: ["·", "dim"],
};

export function renderStatus(status: Status, colors: Colors): string {
  const [symbol, style] = SYMBOLS[status];
  return colors[style](symbol);
}

/** Throws a `UsageError` if the file exists. */
export function assertDoesNotExist(file: string, { cwd }: Terminal): void {
  if (existsSync(resolve(cwd, file)))
    throw new UsageError(`${file} already exists.`, "Use --force to overwrite it, or choose another name.");
}

export async function writeOutput(
  file: string,
  content: string | Uint8Array,
  { cwd }: Terminal,
): Promise<void> {
  try {
    await writeFile(resolve(cwd, file), content);
  } catch (error) {
    const reason = describeThrown(error);
    throw new UsageError(
      `${file} cannot be written: ${reason}.`,
      "Choose another file for --output.",
      "failed",
    );
  }
}

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
  #frame = 0;

  constructor(terminal: Terminal, { isQuiet }: { readonly isQuiet: boolean }) {
    this.#terminal = terminal;
    const { stdout, stderr, env } = terminal;
    const canRedraw = stdout.isTTY === true && stderr.isTTY === true && env["TERM"] !== "dumb";
    this.#isShown = !isQuiet && canRedraw;
  }

  /** Shows a line while `work` runs. `text` is called for every frame, with the time so far. */
  async during<Result>(text: (elapsed: string) => string, work: () => Promise<Result>): Promise<Result> {
    if (!this.#isShown) return work();
    const startedAt = performance.now();
    this.#text = () => text(formatSeconds(performance.now() - startedAt));
    const timer = setInterval(() => this.#draw(), FRAME_MS);
    this.#draw();
    try {
      return await work();
    } finally {
      clearInterval(timer);
      this.#text = undefined;
      this.#terminal.stderr.write(ERASE);
    }
  }

  /** Prints a permanent line, escaped. */
  log(line: string): void {
    const isLive = this.#text !== undefined;
    this.#terminal.stderr.write(`${isLive ? ERASE : ""}${escapeText(line)}\n`);
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

/** Discards log lines, for commands that report warnings as findings. */
export const SILENT_LOGGER = createConsoleLogger("silent");
