import { link, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { asideOf, isAside, isEntryFile, readHeaderOf } from "./entry-file.js";

interface SweepOptions {
  readonly now: number;
  readonly isOver: () => boolean;
}

/** An entry that is in use is written anew about when it expires, and clocks differ a little. */
const GRACE_MS = 60_000;

/** Nobody takes so long to write a file: whoever began it is gone. */
const ABANDONED_MS = 3_600_000;

/**
 * Removes entries that have expired, and what a process that died left behind. What is not ours stays,
 * and what cannot be removed stays until the next time.
 */
export async function sweepFolder(folder: string, { now, isOver }: SweepOptions): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (isOver()) return;
    await sweepFile(join(folder, name), now).catch(() => undefined);
  }
}

async function sweepFile(path: string, now: number): Promise<void> {
  if (isEntryFile(basename(path))) await sweepEntry(path, now - GRACE_MS);
  else if (isAside(basename(path))) await sweepAbandoned(path, now - ABANDONED_MS);
}

async function sweepEntry(path: string, expiredBefore: number): Promise<void> {
  if (!(await isExpired(path, expiredBefore))) return;
  // Another process may write a new entry after we have looked. So the file is moved away first, looked at
  // once more, and put back unless there is a newer one still.
  const aside = asideOf(path);
  await rename(path, aside);
  if (!(await isExpired(aside, expiredBefore))) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function isExpired(path: string, before: number): Promise<boolean> {
  const header = await readHeaderOf(path);
  return header?.expiresAt !== undefined && header.expiresAt < before;
}

async function sweepAbandoned(path: string, before: number): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (mtimeMs < before) await rm(path, { force: true });
}
