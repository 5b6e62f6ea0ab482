import { CancelScope } from "../async/cancel-scope.js";
import { systemClock } from "../async/clock.js";
import { withDeadline } from "../async/deadline.js";
import { within } from "../async/settle-within.js";
import type { JsonValue } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { expiryOf } from "./to-expires-at.js";
import type { KeyValueStore, StoreCallOptions, StoreSetOptions } from "./key-value-store.js";
import { toStoreError } from "./store-error.js";
import { checkStoreKey, checkStorePrefix, quoteKey } from "./store-key.js";
import { checkCallOptions, type StoreSpec } from "./store-options.js";
import { decodeRecord, encodeRecord, type StoredHeader } from "./stored-record.js";
import { type StoreDriver, UnsoundEntry } from "./store-driver.js";

interface Operation<Result> {
  /** `read "weather"`. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
  readonly secrets?: readonly string[];
  readonly work: (cancellation: CancelScope) => Promise<Result>;
}

/** A store on any shelf: what keys and values may be, for how long one waits, how failures are told. */
export class DriverStore implements KeyValueStore {
  readonly watch?: NonNullable<KeyValueStore["watch"]>;
  readonly #shelf: StoreDriver;
  readonly #spec: StoreSpec;
  readonly #life = new CancelScope();
  /** Work that its caller may have left already. */
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(shelf: StoreDriver, config: StoreSpec) {
    this.#shelf = shelf;
    this.#spec = config;
    if (shelf.watch !== undefined) {
      this.watch = async (listener) => {
        this.#life.throwIfCancelled();
        return shelf.watch?.(listener) ?? (async () => undefined);
      };
    }
  }

  async get(key: string, options: StoreCallOptions = {}): Promise<JsonValue | undefined> {
    const { signal } = checkCallOptions(options);
    checkStoreKey(key);
    const what = `read ${quoteKey(key)}`;
    const work = (cancellation: CancelScope) => this.#shelf.read(key, cancellation);
    try {
      const text = await this.#run({ what, signal, work });
      return text === undefined ? undefined : this.#decode(key, text);
    } catch (error) {
      if (!(error instanceof UnsoundEntry)) throw error;
      this.#warn(key, error.message);
      return undefined;
    }
  }

  async set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    const { ttlMs, signal } = checkCallOptions(options);
    checkStoreKey(key);
    const expiresAt = expiryOf(ttlMs, this.#spec.now());
    const text = this.#encode({ key, expiresAt }, value);
    const what = `write ${quoteKey(key)}`;
    const entry = { key, text, ttlMs, expiresAt };
    const work = (cancellation: CancelScope) => this.#shelf.write(entry, cancellation);
    await this.#run({ what, signal, secrets: [text], work });
  }

  async delete(key: string, options: StoreCallOptions = {}): Promise<void> {
    const { signal } = checkCallOptions(options);
    checkStoreKey(key);
    const work = (cancellation: CancelScope) => this.#shelf.remove(key, cancellation);
    await this.#run({ what: `delete ${quoteKey(key)}`, signal, work });
  }

  async list(prefix: string, options: StoreCallOptions = {}): Promise<string[]> {
    const { signal } = checkCallOptions(options);
    checkStorePrefix(prefix);
    const work = (cancellation: CancelScope) => this.#shelf.list(prefix, cancellation);
    const keys = await this.#run({ what: `list ${quoteKey(prefix)}`, signal, work });
    return keys.toSorted();
  }

  async close(): Promise<void> {
    this.#life.cancel(new McpRuntimeError("closed", `${this.#subject} was closed.`));
    const { timeoutMs } = this.#spec;
    await within(timeoutMs, systemClock, () => Promise.allSettled(this.#underWay));
    await within(timeoutMs, systemClock, () => this.#shelf.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #subject(): string {
    return this.#shelf.name.replace(/^t/, "T");
  }

  /** One operation on the shelf, for as long as the caller, the store and its time limit allow. */
  async #run<Result>({ what, signal, secrets = [], work }: Operation<Result>): Promise<Result> {
    const cancellation = CancelScope.fromSignal(signal);
    const leaveStore = this.#life.onCancel((reason) => cancellation.cancel(reason));
    const ms = this.#spec.timeoutMs;
    const expired = () => new McpRuntimeError("timeout", `${this.#subject} did not ${what} within ${ms} ms.`);
    try {
      cancellation.throwIfCancelled();
      return await withDeadline({ ms, clock: systemClock, cancellation, expired }, (limited) =>
        limited.race(this.#track(work(limited))),
      );
    } catch (error) {
      if (cancellation.isCancelled || error instanceof UnsoundEntry) throw error;
      const failed = `${this.#subject} could not ${what}`;
      throw toStoreError(error, { failed, secrets: [...secrets, ...this.#shelf.secrets] });
    } finally {
      leaveStore();
      cancellation.release();
    }
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work);
    const forget = () => this.#underWay.delete(work);
    work.then(forget, forget);
    return work;
  }

  #encode(header: StoredHeader, value: unknown): string {
    const text = encodeRecord(header, value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.#spec.maxBytes) return text;
    const problem = `${quoteKey(header.key)} takes ${bytes} bytes, and \`maxBytes\` allows ${this.#spec.maxBytes}`;
    throw new McpRuntimeError("too-large", `${this.#subject} cannot keep the value: ${problem}.`);
  }

  #decode(key: string, text: string): JsonValue | undefined {
    if (Buffer.byteLength(text) > this.#spec.maxBytes) throw new UnsoundEntry("is larger than `maxBytes`");
    const record = decodeRecord(text, key, this.#spec.now());
    if (record.state === "unsound") throw new UnsoundEntry(record.problem);
    return record.state === "live" ? record.value : undefined;
  }

  #warn(key: string, problem: string): void {
    this.#spec.logger.warn(`What ${this.#shelf.name} has under ${quoteKey(key)} ${problem}; it is ignored.`);
  }
}
