import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CancelScope } from "../../async/cancel-scope.js";
import { mapLimited } from "../../async/map-concurrent.js";
import { asideOf, codeOf, entryFileOf, isEntryFile, readEntryFile, readHeaderOf } from "./entry-file.js";
import type { StoreSpec } from "../store-options.js";
import { hasExpired } from "../stored-record.js";
import { sweepFolder } from "./sweep-folder.js";
import { type ShelfEntry, type StoreDriver, UnsoundEntry } from "../store-driver.js";

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;
const WRITABLE_BY_OTHERS = 0o022;

const SWEEP_EVERY_MS = 600_000;
const FILES_AT_A_TIME = 16;

/** One file for each entry, named by the hash of its key. A file is renamed into place, so nobody reads half of it. */
export class FileShelf implements StoreDriver {
  readonly name: string;
  readonly secrets = [];
  readonly #folder: string;
  readonly #spec: StoreSpec;
  #hasLooked = false;
  #sweptAt: number | undefined;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  constructor(folder: string, config: StoreSpec) {
    this.name = `the file store in ${folder}`;
    this.#folder = folder;
    this.#spec = config;
  }

  async read(key: string): Promise<string | undefined> {
    try {
      return await readEntryFile(this.#pathOf(key), async (handle) => {
        const found = await handle.stat();
        if (!found.isFile()) throw new UnsoundEntry("is no file");
        if (found.size > this.#spec.maxBytes) throw new UnsoundEntry("is larger than `maxBytes`");
        return handle.readFile("utf8");
      });
    } catch (error) {
      if (codeOf(error) === "ELOOP") throw new UnsoundEntry("is a link");
      throw error;
    }
  }

  async write({ key, text }: ShelfEntry, cancellation: CancelScope): Promise<void> {
    const path = this.#pathOf(key);
    const aside = asideOf(path);
    await this.#prepareFolder();
    try {
      await writeFile(aside, text, { mode: OWNER_ONLY_FILE, flag: "wx" });
      cancellation.throwIfCancelled();
      await rename(aside, path);
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
    this.#sweepNowAndThen();
  }

  async remove(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
  }

  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const files = (await this.#files()).filter(isEntryFile);
    const keys = await mapLimited(files, FILES_AT_A_TIME, async (file) => {
      cancellation.throwIfCancelled();
      const header = await readHeaderOf(join(this.#folder, file));
      const isEntry = header !== undefined && entryFileOf(header.key) === file;
      return isEntry && !hasExpired(header, this.#spec.now()) ? header.key : undefined;
    });
    return keys.filter((key) => key !== undefined).filter((key) => key.startsWith(prefix));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
  }

  #pathOf(key: string): string {
    return join(this.#folder, entryFileOf(key));
  }

  async #files(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** Made for its owner alone. One that was there before is left as it is, with a warning where it is open. */
  async #prepareFolder(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
    if (this.#hasLooked || process.platform === "win32") return;
    this.#hasLooked = true;
    const { mode } = await stat(this.#folder);
    if ((mode & WRITABLE_BY_OTHERS) === 0) return;
    this.#spec.logger.warn(`Other users can write into the folder ${this.#folder} of a file store.`);
  }

  /** In the background, at the first write and then now and again. */
  #sweepNowAndThen(): void {
    const now = this.#spec.now();
    if (this.#sweeping !== undefined || (this.#sweptAt !== undefined && now - this.#sweptAt < SWEEP_EVERY_MS))
      return;
    this.#sweptAt = now;
    this.#sweeping = sweepFolder(this.#folder, { now, isOver: () => this.#isClosed }).finally(() => {
      this.#sweeping = undefined;
    });
  }
}
