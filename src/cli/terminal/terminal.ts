/** A stream that people or programs read. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Where a command reads and writes, and what surrounds it. It comes in as a parameter, so that a test can hold it. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that the command was given in. */
  readonly cwd: string;
}

const NARROWEST = 20;

/** How wide a line may be; as wide as it likes, where no person reads it. */
export function columnsOf({ isTTY, columns }: OutputStream): number {
  if (isTTY !== true || columns === undefined || columns === 0) return Number.POSITIVE_INFINITY;
  return Math.max(NARROWEST, columns);
}

/** Somebody is there to answer a question. */
export function canAsk({ stdin, stderr }: Terminal): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** A line can be drawn again and again: people look at it, and the terminal can erase. */
export function canRedraw({ stdout, stderr, env }: Terminal): boolean {
  return stdout.isTTY === true && stderr.isTTY === true && env["TERM"] !== "dumb";
}
