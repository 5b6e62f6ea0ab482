import { access, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Terminal } from "./terminal.js";
import { UsageError } from "../usage-error.js";

/** Somebody may have worked on a file that is there. */
export async function refuseToOverwrite(file: string, { cwd }: Terminal): Promise<void> {
  const isThere = await access(resolve(cwd, file)).then(
    () => true,
    () => false,
  );
  if (isThere)
    throw new UsageError(`${file} is there already.`, "Write over it with --force, or choose another name.");
}

export async function writeOutput(
  file: string,
  content: string | Uint8Array,
  { cwd }: Terminal,
): Promise<void> {
  try {
    await writeFile(resolve(cwd, file), content);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${file} cannot be written: ${why}.`, "Choose another file for --output.", "failed");
  }
}
