import { createInterface } from "node:readline";
import type { Terminal } from "./terminal.js";

/**
 * Asks a person; anything but a yes is a no, and so is the end of the input. The terminal itself
 * edits the line, so that Ctrl-C stays a signal.
 */
export async function askYesNo(
  { stdin, stderr }: Terminal,
  question: string,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: stdin, terminal: false });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      lines.once("close", () => {
        stderr.write("\n");
        resolve("");
      });
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    lines.removeAllListeners("close");
    lines.close();
  }
}
