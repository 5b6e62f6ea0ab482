import { link, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { tempPathFor, isTempFile, isEntryFile, readHeader } from "./entry-file.js";

interface SweepOptions {
  readonly now: number;
  readonly isCancelled: () => boolean;
}

/** Entries in use are rewritten around their expiry time, and clocks differ slightly. */
const GRACE_MS = 60_000;

/** No write takes this long: a temporary file of this age was left by a process that died. */
const STALE_TEMP_MS = 3_600_000;

/**
 * Removes expired entries and temporary files of processes that died. Other files are not touched; a file
 * that cannot be removed is tried again by the next sweep.
 */
export async function sweepFolder(folder: string, { now, isCancelled }: SweepOptions): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (isCancelled()) return;
    await sweepFile(join(folder, name), now).catch(() => undefined);
  }
}

async function sweepFile(path: string, now: number): Promise<void> {
  if (isEntryFile(basename(path))) await sweepEntry(path, now - GRACE_MS);
  else if (isTempFile(basename(path))) await sweepTempFile(path, now - STALE_TEMP_MS);
}

async function sweepEntry(path: string, expiredBefore: number): Promise<void> {
  if (!(await isExpired(path, expiredBefore))) return;
  // Another process may write a new entry between the check and the removal: move the file away first, check it
  // again, and put it back unless a newer entry exists.
  const tempPath = tempPathFor(path);
  await rename(path, tempPath);
  if (!(await isExpired(tempPath, expiredBefore))) await link(tempPath, path).catch(() => undefined);
  await rm(tempPath, { force: true });
}

async function isExpired(path: string, before: number): Promise<boolean> {
  const header = await readHeader(path);
  return header?.expiresAt !== undefined && header.expiresAt < before;
}

async function sweepTempFile(path: string, before: number): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (mtimeMs < before) await rm(path, { force: true });
}
