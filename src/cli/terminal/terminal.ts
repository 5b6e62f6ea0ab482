import { isAbsolute, relative } from "node:path";

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
export function getColumns({ isTTY, columns }: OutputStream): number {
  if (isTTY !== true || columns === undefined || columns === 0) return Number.POSITIVE_INFINITY;
  return Math.max(MIN_WIDTH, columns);
}

/** Returns true if the user can be asked a question. */
export function isInteractive({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Returns true if a line can be redrawn. */
export function canRedraw({ stdout, stderr, env }: Terminal): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && env["TERM"] !== "dumb";
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
