import { access, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Terminal } from "./terminal.js";
import { UsageError } from "../exit-codes.js";

/** Throws a `UsageError` if the file exists. */
export async function assertDoesNotExist(file: string, { cwd }: Terminal): Promise<void> {
  const exists = await access(resolve(cwd, file)).then(
    () => true,
    () => false,
  );
  if (exists)
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
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `${file} cannot be written: ${reason}.`,
      "Choose another file for --output.",
      "failed",
    );
  }
}
