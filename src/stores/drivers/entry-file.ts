import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { decodeHeader, LONGEST_HEADER, type StoredHeader } from "../stored-record.js";

/** Neither a link that leads elsewhere is followed, nor a pipe waited for. Windows has neither. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const ENTRY = /^[0-9a-f]{64}\.json$/;
const ASIDE = /^[0-9a-f]{64}\.json\.[0-9a-f]{16}\.tmp$/;

/** Any key makes a name that every file system takes. */
export function entryFileOf(key: string): string {
  return `${createHash("sha256").update(key).digest("hex")}.json`;
}

export function isEntryFile(name: string): boolean {
  return ENTRY.test(name);
}

/** A name beside an entry's own that nobody else uses: of a file not yet, or no longer, an entry. */
export function asideOf(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

export function isAside(name: string): boolean {
  return ASIDE.test(name);
}

/** What `read` makes of an open file, or `undefined` when there is none. */
export async function readEntryFile<Result>(
  path: string,
  read: (handle: FileHandle) => Promise<Result>,
): Promise<Result | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, READ);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return await read(handle);
  } finally {
    await handle.close();
  }
}

/** What a file says of itself, without the rest of it; `undefined` for what is no entry. */
export async function readHeaderOf(path: string): Promise<StoredHeader | undefined> {
  try {
    return await readEntryFile(path, async (handle) => {
      const buffer = Buffer.alloc(LONGEST_HEADER);
      const { bytesRead } = await handle.read(buffer, 0, LONGEST_HEADER, 0);
      return decodeHeader(buffer.toString("utf8", 0, bytesRead));
    });
  } catch {
    return undefined;
  }
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, "code") : undefined;
}
