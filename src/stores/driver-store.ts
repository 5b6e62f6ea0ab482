import { CancelScope } from "../async/cancel-scope.js";
import { systemClock } from "../async/clock.js";
import { withDeadline, settleWithin } from "../async/deadline.js";
import type { JsonValue } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toExpiresAt, decodeRecord, encodeRecord, type StoredHeader } from "./stored-record.js";
import type { KeyValueStore, StoreCallOptions, StoreSetOptions } from "./key-value-store.js";
import { assertStoreKey, assertStorePrefix, quoteKey } from "./store-key.js";
import { assertCallOptions, type ResolvedStoreOptions } from "./store-options.js";
import { type StoreDriver, InvalidEntryError } from "./store-driver.js";
import { Redactor } from "../errors/redaction.js";

interface Operation<Result> {
  /** For error messages: `read "weather"`. */
  readonly description: string;
  readonly signal: AbortSignal | undefined;
  readonly secrets?: readonly string[];
  readonly work: (cancellation: CancelScope) => Promise<Result>;
}

/** A `KeyValueStore` on top of a driver: validates keys and values, enforces time limits, translates errors. */
export class DriverStore implements KeyValueStore {
  readonly watch?: NonNullable<KeyValueStore["watch"]>;
  readonly #driver: StoreDriver;
  readonly #options: ResolvedStoreOptions;
  readonly #closed = new CancelScope();
  /** Driver operations in progress, including those whose caller no longer waits. */
  readonly #pending = new Set<Promise<unknown>>();

  constructor(driver: StoreDriver, config: ResolvedStoreOptions) {
    this.#driver = driver;
    this.#options = config;
    if (driver.watch !== undefined) {
      this.watch = async (listener) => {
        this.#closed.throwIfCancelled();
        return driver.watch?.(listener) ?? (async () => undefined);
      };
    }
  }

  async get(key: string, options: StoreCallOptions = {}): Promise<JsonValue | undefined> {
    const { signal } = assertCallOptions(options);
    assertStoreKey(key);
    const description = `read ${quoteKey(key)}`;
    const work = (cancellation: CancelScope) => this.#driver.read(key, cancellation);
    try {
      const text = await this.#run({ description, signal, work });
      return text === undefined ? undefined : this.#decode(key, text);
    } catch (error) {
      if (!(error instanceof InvalidEntryError)) throw error;
      this.#warn(key, error.message);
      return undefined;
    }
  }

  async set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    const { ttlMs, signal } = assertCallOptions(options);
    assertStoreKey(key);
    const expiresAt = toExpiresAt(ttlMs, this.#options.now());
    const text = this.#encode({ key, expiresAt }, value);
    const description = `write ${quoteKey(key)}`;
    const entry = { key, text, ttlMs, expiresAt };
    const work = (cancellation: CancelScope) => this.#driver.write(entry, cancellation);
    await this.#run({ description, signal, secrets: [text], work });
  }

  async delete(key: string, options: StoreCallOptions = {}): Promise<void> {
    const { signal } = assertCallOptions(options);
    assertStoreKey(key);
    const work = (cancellation: CancelScope) => this.#driver.remove(key, cancellation);
    await this.#run({ description: `delete ${quoteKey(key)}`, signal, work });
  }

  async list(prefix: string, options: StoreCallOptions = {}): Promise<string[]> {
    const { signal } = assertCallOptions(options);
    assertStorePrefix(prefix);
    const work = (cancellation: CancelScope) => this.#driver.list(prefix, cancellation);
    const keys = await this.#run({ description: `list ${quoteKey(prefix)}`, signal, work });
    return keys.toSorted();
  }

  async close(): Promise<void> {
    this.#closed.cancel(new McpRuntimeError("closed", `${this.#displayName} was closed.`));
    const { timeoutMs } = this.#options;
    await settleWithin(timeoutMs, systemClock, () => Promise.allSettled(this.#pending));
    await settleWithin(timeoutMs, systemClock, () => this.#driver.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #displayName(): string {
    return this.#driver.name.replace(/^t/, "T");
  }

  /** Runs one driver operation until it ends, the caller cancels, the store closes or the time limit expires. */
  async #run<Result>({ description, signal, secrets = [], work }: Operation<Result>): Promise<Result> {
    const cancellation = CancelScope.fromSignal(signal);
    const unsubscribe = this.#closed.onCancel((reason) => cancellation.cancel(reason));
    const ms = this.#options.timeoutMs;
    const expired = () =>
      new McpRuntimeError("timeout", `${this.#displayName} did not ${description} within ${ms} ms.`);
    try {
      cancellation.throwIfCancelled();
      return await withDeadline({ ms, clock: systemClock, cancellation, createError: expired }, (scope) =>
        scope.race(this.#track(work(scope))),
      );
    } catch (error) {
      if (cancellation.isCancelled || error instanceof InvalidEntryError) throw error;
      const operation = `${this.#displayName} could not ${description}`;
      throw toStoreError(error, { operation, secrets: [...secrets, ...this.#driver.secrets] });
    } finally {
      unsubscribe();
      cancellation.dispose();
    }
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending.add(work);
    const untrack = () => this.#pending.delete(work);
    work.then(untrack, untrack);
    return work;
  }

  #encode(header: StoredHeader, value: unknown): string {
    const text = encodeRecord(header, value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.#options.maxBytes) return text;
    const problem = `${quoteKey(header.key)} has ${bytes} bytes; \`maxBytes\` is ${this.#options.maxBytes}`;
    throw new McpRuntimeError("too-large", `${this.#displayName} cannot store the value: ${problem}.`);
  }

  #decode(key: string, text: string): JsonValue | undefined {
    if (Buffer.byteLength(text) > this.#options.maxBytes)
      throw new InvalidEntryError("is larger than `maxBytes`");
    const record = decodeRecord(text, key, this.#options.now());
    if (record.state === "invalid") throw new InvalidEntryError(record.problem);
    return record.state === "live" ? record.value : undefined;
  }

  #warn(key: string, problem: string): void {
    this.#options.logger.warn(`Ignored the entry ${quoteKey(key)} of ${this.#driver.name}: it ${problem}.`);
  }
}

interface FailedOperation {
  /** `The Redis store at localhost:6379 could not read "weather"`. */
  readonly operation: string;
  readonly secrets: readonly string[];
}

const MAX_MESSAGE_LENGTH = 300;

/** Redis repeats the first arguments of an unknown command in its error message. */
const REDIS_ARGUMENT_ECHO = /,? with args beginning with:.*/s;

/** Wraps an error of the backend as `unavailable`. An `McpRuntimeError` is returned unchanged. */
function toStoreError(error: unknown, { operation, secrets }: FailedOperation): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const cause = error instanceof Error ? redactedCopy(error, new Redactor(secrets)) : undefined;
  const reason = cause === undefined ? "" : ` (${cause.code ?? cause.name})`;
  return new McpRuntimeError(
    "unavailable",
    `${operation}${reason}. Check that it is running and reachable.`,
    {
      cause,
    },
  );
}

/**
 * Errors of client libraries carry the failed command with all arguments, the connection and the password.
 * Only name, code, redacted message and stack are copied.
 */
function redactedCopy(error: Error, redactor: Redactor): Error & { readonly code?: string } {
  const message = redactor
    .redact(error.message.replace(REDIS_ARGUMENT_ECHO, ""))
    .slice(0, MAX_MESSAGE_LENGTH);
  const code: unknown = Reflect.get(error, "code") ?? /^[A-Z]{3,}(?= )/.exec(error.message)?.[0];
  const copy = Object.assign(new Error(message), typeof code === "string" ? { code } : {});
  copy.name = error.name;
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  copy.stack = [`${error.name}: ${message}`, ...frames].join("\n");
  return copy;
}
