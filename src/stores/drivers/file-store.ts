import { errorCode } from "../../errors/failure-kinds.js";
import { join, resolve } from "node:path";
import { configError } from "../../errors/mcp-runtime-error.js";
import { describeValue } from "../../json/describe-value.js";
import type { KeyValueStore } from "../key-value-store.js";
import { DriverStore, type DriverEntry, type FailureExplanation, type StoreDriver } from "../driver-store.js";
import { resolveStoreOptions, type StoreOptions, type ResolvedStoreOptions } from "../store-options.js";
import { mkdir, readdir, rename, rm, stat, writeFile, open, link } from "node:fs/promises";
import type { CancelScope } from "../../async/cancel-scope.js";
import { mapConcurrent } from "../../async/semaphore.js";
import {
  decodeEntryHeader,
  hasExpired,
  InvalidEntryError,
  MAX_HEADER_LENGTH,
  type EntryHeader,
} from "../entry-codec.js";
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";

/** Options of `fileStore`. */
export type FileStoreOptions = StoreOptions;

/**
 * Creates a store that writes one file per entry to a folder, for later runs and other processes of the same
 * user on this machine. The folder is created by the first write.
 *
 * @throws McpRuntimeError `invalid-config` for invalid options
 * @example
 * ```ts
 * await using store = fileStore(".cache/mcp");
 * const toolset = await createMcpTools(servers, { cache: { store } });
 * ```
 */
export function fileStore(folder: string, options: FileStoreOptions = {}): KeyValueStore {
  if (typeof folder !== "string" || folder === "") {
    const message = `expected the path of a folder, got ${describeValue(folder)}`;
    throw configError("The file store", [{ path: "folder", message }]);
  }
  const config = resolveStoreOptions("The file store", options);
  return new DriverStore(new FileDriver(resolve(folder), config), config);
}

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const WRITABLE_BY_OTHERS = 0o022;

const FOLDER_EXPLANATION: FailureExplanation = {
  kind: "unavailable",
  text: "Check that it is a folder that this process can read and write.",
};

const SWEEP_EVERY_MS = 600_000;
const MAX_OPEN_FILES = 16;

/** Stores one file per entry, named by the hash of its key. Files are written to a temporary path and renamed, so reads are never partial. */
class FileDriver implements StoreDriver {
  readonly name: string;
  readonly #folder: string;
  readonly #options: ResolvedStoreOptions;
  #permissionsChecked = false;
  #lastSweepAt = Number.NEGATIVE_INFINITY;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string, config: ResolvedStoreOptions) {
    this.name = `the file store in ${folder}`;
    this.#folder = folder;
    this.#options = config;
  }

  async read(key: string): Promise<string | undefined> {
    try {
      await using handle = await open(this.#pathOf(key), READ);
      const stats = await handle.stat();
      if (!stats.isFile()) throw new InvalidEntryError("is not a regular file");
      if (stats.size > this.#options.maxBytes) throw new InvalidEntryError("is larger than `maxBytes`");
      return await handle.readFile("utf8");
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      if (errorCode(error) === "ELOOP") throw new InvalidEntryError("is a symbolic link");
      throw error;
    }
  }

  async write({ key, text }: DriverEntry, cancellation: CancelScope): Promise<void> {
    const path = this.#pathOf(key);
    const tempPath = tempPathFor(path);
    await this.#prepareFolder();
    try {
      await writeFile(tempPath, text, { mode: OWNER_ONLY_FILE, flag: "wx" });
      cancellation.throwIfCancelled();
      await rename(tempPath, path);
    } catch (error) {
      await rm(tempPath, { force: true });
      throw error;
    }
    this.#scheduleSweep();
  }

  async remove(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    });
    const files = names.filter((name) => ENTRY.test(name));
    const keys = await mapConcurrent(files, MAX_OPEN_FILES, async (file) => {
      cancellation.throwIfCancelled();
      const header = await readHeader(join(this.#folder, file));
      const isEntry = header !== undefined && entryFileName(header.key) === file;
      return isEntry && !hasExpired(header, this.#options.now()) ? header.key : undefined;
    });
    return keys.filter((key) => key !== undefined).filter((key) => key.startsWith(prefix));
  }

  explainFailure(): FailureExplanation {
    return FOLDER_EXPLANATION;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
  }

  #pathOf(key: string): string {
    return join(this.#folder, entryFileName(key));
  }

  /** Creates the folder with owner-only permissions. Logs a warning if an existing folder is writable by others. */
  async #prepareFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
    if (this.#permissionsChecked || process.platform === "win32") return;
    this.#permissionsChecked = true;
    const { mode } = await stat(this.#folder);
    if ((mode & WRITABLE_BY_OTHERS) === 0) return;
    this.#options.logger.warn(`Other users can write to the folder ${this.#folder} of a file store.`);
  }

  /** Removes expired entries in the background, after the first write and then at most every ten minutes. */
  #scheduleSweep(): void {
    const now = this.#options.now();
    if (this.#sweeping !== undefined || now - this.#lastSweepAt < SWEEP_EVERY_MS) return;
    this.#lastSweepAt = now;
    this.#sweeping = sweepFolder(this.#folder, { now, isCancelled: () => this.#isClosed }).finally(() => {
      this.#sweeping = undefined;
    });
  }
}

/** Do not follow symbolic links and do not block on pipes. The flags do not exist on Windows. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const ENTRY = /^[0-9a-f]{64}\.json$/;
const TEMP_FILE = /^[0-9a-f]{64}\.json\.[0-9a-f]{16}\.tmp$/;

/** Returns the file name of a key, valid on every file system. */
export function entryFileName(key: string): string {
  return `${createHash("sha256").update(key).digest("hex")}.json`;
}

/** Returns a unique temporary path next to an entry file. */
export function tempPathFor(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

/** Reads only the header of an entry file. Returns `undefined` if it is not an entry. */
async function readHeader(path: string): Promise<EntryHeader | undefined> {
  try {
    await using handle = await open(path, READ);
    const buffer = Buffer.alloc(MAX_HEADER_LENGTH);
    const { bytesRead } = await handle.read(buffer, 0, MAX_HEADER_LENGTH, 0);
    return decodeEntryHeader(buffer.toString("utf8", 0, bytesRead));
  } catch {
    return undefined;
  }
}

/** Entries in use are rewritten around their expiry time, and clocks differ slightly. */
const GRACE_MS = 60_000;

/** No write takes this long: a temporary file of this age was left by a process that died. */
const STALE_TEMP_MS = 3_600_000;

/**
 * Removes expired entries and temporary files of processes that died. Other files are not touched; a file
 * that cannot be removed is tried again by the next sweep.
 */
export async function sweepFolder(
  folder: string,
  { now, isCancelled }: { readonly now: number; readonly isCancelled: () => boolean },
): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (isCancelled()) return;
    const path = join(folder, name);
    if (ENTRY.test(name)) await sweepEntry(path, now - GRACE_MS).catch(() => undefined);
    else if (TEMP_FILE.test(name)) await sweepTempFile(path, now - STALE_TEMP_MS).catch(() => undefined);
  }
}

async function sweepEntry(path: string, expiredBefore: number): Promise<void> {
  const isExpired = async (file: string) => {
    const header = await readHeader(file);
    return header?.expiresAt !== undefined && header.expiresAt < expiredBefore;
  };
  if (!(await isExpired(path))) return;
  // Another process may write a new entry between the check and the removal: move the file away first, check it
  // again, and put it back unless a newer entry exists.
  const tempPath = tempPathFor(path);
  await rename(path, tempPath);
  if (!(await isExpired(tempPath))) await link(tempPath, path).catch(() => undefined);
  await rm(tempPath, { force: true });
}

async function sweepTempFile(path: string, before: number): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (mtimeMs < before) await rm(path, { force: true });
}
