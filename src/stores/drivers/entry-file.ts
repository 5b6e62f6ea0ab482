import { errorCode } from "../../errors/error-code.js";
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { decodeHeader, MAX_HEADER_LENGTH, type StoredHeader } from "../stored-record.js";

/** Do not follow symbolic links and do not block on pipes. The flags do not exist on Windows. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const ENTRY = /^[0-9a-f]{64}\.json$/;
const TEMP_FILE = /^[0-9a-f]{64}\.json\.[0-9a-f]{16}\.tmp$/;

/** Returns the file name of a key, valid on every file system. */
export function entryFileName(key: string): string {
  return `${createHash("sha256").update(key).digest("hex")}.json`;
}

export function isEntryFile(name: string): boolean {
  return ENTRY.test(name);
}

/** Returns a unique temporary path next to an entry file. */
export function tempPathFor(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

export function isTempFile(name: string): boolean {
  return TEMP_FILE.test(name);
}

/** Opens an entry file and returns the result of `read`, or `undefined` if the file does not exist. */
export async function readEntryFile<Result>(
  path: string,
  read: (handle: FileHandle) => Promise<Result>,
): Promise<Result | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, READ);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return await read(handle);
  } finally {
    await handle.close();
  }
}

/** Reads only the header of an entry file. Returns `undefined` if it is not an entry. */
export async function readHeader(path: string): Promise<StoredHeader | undefined> {
  try {
    return await readEntryFile(path, async (handle) => {
      const buffer = Buffer.alloc(MAX_HEADER_LENGTH);
      const { bytesRead } = await handle.read(buffer, 0, MAX_HEADER_LENGTH, 0);
      return decodeHeader(buffer.toString("utf8", 0, bytesRead));
    });
  } catch {
    return undefined;
  }
}
