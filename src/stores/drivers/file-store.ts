import { errorCode } from "../../errors/error-code.js";
import { resolve, join } from "node:path";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import type { KeyValueStore } from "../key-value-store.js";
import { DriverStore } from "../driver-store.js";
import { resolveStoreOptions, type StoreOptions, type ResolvedStoreOptions } from "../store-options.js";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import type { CancelScope } from "../../async/cancel-scope.js";
import { mapConcurrent } from "../../async/map-concurrent.js";
import { tempPathFor, entryFileName, isEntryFile, readEntryFile, readHeader } from "./entry-file.js";
import { hasExpired } from "../stored-record.js";
import { sweepFolder } from "./sweep-folder.js";
import { type DriverEntry, type StoreDriver, InvalidEntryError } from "../store-driver.js";

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

const SWEEP_EVERY_MS = 600_000;
const MAX_OPEN_FILES = 16;

/** Stores one file per entry, named by the hash of its key. Files are written to a temporary path and renamed, so reads are never partial. */
class FileDriver implements StoreDriver {
  readonly name: string;
  readonly secrets = [];
  readonly #folder: string;
  readonly #options: ResolvedStoreOptions;
  #permissionsChecked = false;
  #lastSweepAt: number | undefined;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string, config: ResolvedStoreOptions) {
    this.name = `the file store in ${folder}`;
    this.#folder = folder;
    this.#options = config;
  }

  async read(key: string): Promise<string | undefined> {
    try {
      return await readEntryFile(this.#pathOf(key), async (handle) => {
        const stats = await handle.stat();
        if (!stats.isFile()) throw new InvalidEntryError("is not a regular file");
        if (stats.size > this.#options.maxBytes) throw new InvalidEntryError("is larger than `maxBytes`");
        return handle.readFile("utf8");
      });
    } catch (error) {
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
    const files = (await this.#files()).filter(isEntryFile);
    const keys = await mapConcurrent(files, MAX_OPEN_FILES, async (file) => {
      cancellation.throwIfCancelled();
      const header = await readHeader(join(this.#folder, file));
      const isEntry = header !== undefined && entryFileName(header.key) === file;
      return isEntry && !hasExpired(header, this.#options.now()) ? header.key : undefined;
    });
    return keys.filter((key) => key !== undefined).filter((key) => key.startsWith(prefix));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
  }

  #pathOf(key: string): string {
    return join(this.#folder, entryFileName(key));
  }

  async #files(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
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
    if (
      this.#sweeping !== undefined ||
      (this.#lastSweepAt !== undefined && now - this.#lastSweepAt < SWEEP_EVERY_MS)
    )
      return;
    this.#lastSweepAt = now;
    this.#sweeping = sweepFolder(this.#folder, { now, isCancelled: () => this.#isClosed }).finally(() => {
      this.#sweeping = undefined;
    });
  }
}
