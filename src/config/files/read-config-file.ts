import { constants } from "node:fs";
import { open } from "node:fs/promises";

const MEBIBYTE = 1024 * 1024;
/** Some clients keep everything they know in the file that lists their servers. */
export const MOST_BYTES = 16 * MEBIBYTE;
/** What others wrote may only take so long to look at. */
export const MOST_BYTES_OF_OTHERS = MEBIBYTE;
const CHUNK = 64 * 1024;

/** A pipe is not waited for. Windows has none. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** An open file, as far as it is used. */
interface OpenFile {
  stat(): Promise<{ isFile(): boolean; isDirectory(): boolean }>;
  read(buffer: Uint8Array, offset: number, length: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

export type OpenFileAt = (path: string) => Promise<OpenFile>;

export const openOnDisk: OpenFileAt = (path) => open(path, READ);

interface ReadFileOptions {
  readonly openFile: OpenFileAt;
  readonly mostBytes: number;
}

/** `problem` continues the sentence "The file …". */
export type ReadFile =
  | { readonly state: "read"; readonly text: string }
  | { readonly state: "missing" }
  | { readonly state: "unreadable"; readonly problem: string };

/** A file as text, whatever may stand in its place. Links are followed: settings are often kept elsewhere. */
export async function readConfigFile(
  path: string,
  { openFile, mostBytes }: ReadFileOptions,
): Promise<ReadFile> {
  try {
    const file = await openFile(path);
    try {
      return await readOpen(file, mostBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = String(error instanceof Error ? Reflect.get(error, "code") : undefined);
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "missing" };
    return unreadable(PROBLEMS[code] ?? `cannot be read (${code})`);
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: "may not be read: check its permissions",
  EPERM: "may not be read: check its permissions",
  ELOOP: "is a link that leads back to itself",
  EISDIR: "is a folder",
};

async function readOpen(file: OpenFile, mostBytes: number): Promise<ReadFile> {
  const found = await file.stat();
  if (found.isDirectory()) return unreadable("is a folder");
  if (!found.isFile()) return unreadable("is no file, but a pipe, a socket or a device");
  const chunks: Uint8Array[] = [];
  // Not by its size: a file may grow, and some have none.
  for (let total = 0; total <= mostBytes;) {
    const chunk = Buffer.alloc(CHUNK);
    const { bytesRead } = await file.read(chunk, 0, CHUNK);
    if (bytesRead === 0) return { state: "read", text: decode(Buffer.concat(chunks)) };
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return unreadable(`is larger than ${mostBytes / MEBIBYTE} MiB, which no list of servers is`);
}

/** Without a byte order mark. Older shells of Windows write UTF-16. */
function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

function unreadable(problem: string): ReadFile {
  return { state: "unreadable", problem };
}
