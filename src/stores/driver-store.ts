import { randomUUID } from "node:crypto";
import { CancelScope, withSignal } from "../async/cancel-scope.js";
import { type Clock, systemClock, withDeadline, settleWithin } from "../async/clock.js";
import type { JsonValue } from "../json/json.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Redactor } from "../errors/redaction.js";
import { describeThrown, printValue } from "../errors/sanitize-text.js";
import { toExpiresAt, decodeEntry, encodeEntry, InvalidEntryError } from "./entry-codec.js";
import {
  type KeyValueStore,
  type StoreCallOptions,
  type StoreLease,
  type StoreLeaseOptions,
  type StoreSetOptions,
  assertStoreKey,
  assertStorePrefix,
  quoteKey,
  TIME_LIMITED,
  toLease,
} from "./key-value-store.js";
import {
  assertCallOptions,
  assertTtlOptions,
  type ResolvedStoreOptions,
  STORE_DEFAULTS,
} from "./store-options.js";

export interface DriverEntry {
  readonly key: string;
  readonly text: string;
  readonly ttlMs: number | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

/** What a failure of a backend means: its kind, and a sentence about what to do. */
export interface FailureExplanation {
  readonly kind: "unavailable" | "unauthorized" | "invalid-config";
  readonly text: string;
}

/**
 * The backend of a `DriverStore`: stores strings. Validation, time limits and error translation are done
 * by `DriverStore`.
 */
export interface StoreDriver {
  /** For messages: `the Redis store at localhost:6379`. */
  readonly name: string;
  /** Redacted from error messages. */
  readonly secrets?: readonly string[];
  /** Throws `InvalidEntryError` if something other than an entry is stored under the key. */
  read(key: string, cancellation: CancelScope): Promise<string | undefined>;
  write(entry: DriverEntry, cancellation: CancelScope): Promise<void>;
  remove(key: string, cancellation: CancelScope): Promise<void>;
  /** Returns the keys in any order. */
  list(prefix: string, cancellation: CancelScope): Promise<string[]>;
  watch?(listener: (key: string | undefined) => void): Promise<() => Promise<void>>;
  /** The operations of leases, which report no change; missing if the backend cannot compare and set. */
  readonly leases?: LeaseDriver;
  /** Explains an error of the backend whose cause is known. Other errors are `unavailable`. */
  explainFailure?(error: Error): FailureExplanation | undefined;
  /** Missing if the driver opens nothing itself. */
  close?(): Promise<void>;
}

/** Each operation is atomic. The token identifies the holder. */
interface LeaseDriver {
  /** Creates a lease unless there is anything at the key. Returns whether it did. */
  create(lease: DriverLease, cancellation: CancelScope): Promise<boolean>;
  /** Extends the lease if it has this token. Returns whether it has. */
  renew(lease: DriverLease, cancellation: CancelScope): Promise<boolean>;
  /** Removes the lease if it has this token. */
  remove(lease: DriverLease, cancellation: CancelScope): Promise<void>;
}

export interface DriverLease {
  readonly key: string;
  readonly token: string;
  readonly ttlMs: number;
}

/** `close()` waits for at most this many operations: a backend that never responds must not fill the memory. */
const MAX_PENDING = 1_000;

const UNAVAILABLE: FailureExplanation = {
  kind: "unavailable",
  text: "Check that it is running and reachable.",
};

/** A `KeyValueStore` on top of a driver: validates keys and values, enforces time limits, translates errors. */
export class DriverStore implements KeyValueStore {
  readonly watch?: NonNullable<KeyValueStore["watch"]>;
  readonly lease?: NonNullable<KeyValueStore["lease"]>;
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
    const { leases } = driver;
    if (leases !== undefined) this.lease = (key, options) => this.#lease(leases, key, options);
  }

  get [TIME_LIMITED](): boolean {
    return true;
  }

  async get(key: string, options: StoreCallOptions = {}): Promise<JsonValue | undefined> {
    const { signal } = assertCallOptions(options);
    assertStoreKey(key);
    const { maxBytes, now, logger } = this.#options;
    try {
      const text = await this.#run(`read ${quoteKey(key)}`, signal, (scope) => this.#driver.read(key, scope));
      if (text === undefined) return undefined;
      if (Buffer.byteLength(text) > maxBytes) throw new InvalidEntryError("is larger than `maxBytes`");
      return decodeEntry(text, key, now());
    } catch (error) {
      if (!(error instanceof InvalidEntryError)) throw error;
      logger.warn(`Ignored the entry ${quoteKey(key)} of ${this.#driver.name}: it ${error.message}.`);
      return undefined;
    }
  }

  async set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    const { ttlMs, signal } = assertTtlOptions(options);
    assertStoreKey(key);
    const { maxBytes, now } = this.#options;
    const expiresAt = toExpiresAt(ttlMs, now());
    const text = encodeEntry({ key, expiresAt }, value);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) {
      const problem = `${quoteKey(key)} has ${bytes} bytes; \`maxBytes\` is ${maxBytes}`;
      throw new McpRuntimeError("too-large", `${this.#displayName} cannot store the value: ${problem}.`);
    }
    const entry = { key, text, ttlMs, expiresAt };
    const write = (scope: CancelScope) => this.#driver.write(entry, scope);
    await this.#run(`write ${quoteKey(key)}`, signal, write, [text]);
  }

  async delete(key: string, options: StoreCallOptions = {}): Promise<void> {
    const { signal } = assertCallOptions(options);
    assertStoreKey(key);
    await this.#run(`delete ${quoteKey(key)}`, signal, (scope) => this.#driver.remove(key, scope));
  }

  async list(prefix: string, options: StoreCallOptions = {}): Promise<string[]> {
    const { signal } = assertCallOptions(options);
    assertStorePrefix(prefix);
    const list = (scope: CancelScope) => this.#driver.list(prefix, scope);
    const keys = await this.#run(`list ${quoteKey(prefix)}`, signal, list);
    return keys.toSorted();
  }

  async close(): Promise<void> {
    this.#closed.cancel(new McpRuntimeError("closed", `${this.#displayName} was closed.`));
    const { timeoutMs } = this.#options;
    await settleWithin(timeoutMs, systemClock, () => Promise.allSettled(this.#pending));
    await settleWithin(timeoutMs, systemClock, () => this.#driver.close?.());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #lease(
    leases: LeaseDriver,
    key: string,
    options: StoreLeaseOptions,
  ): Promise<StoreLease | undefined> {
    const { ttlMs, signal } = assertTtlOptions(options);
    assertStoreKey(key);
    if (toExpiresAt(ttlMs, 0) === undefined)
      throw configError("The lease of a store", [
        { path: "ttlMs", message: "expected a number of milliseconds" },
      ]);
    const lease = { key, token: randomUUID(), ttlMs };
    const quoted = quoteKey(key);
    const release = () => this.#run(`release ${quoted}`, undefined, (scope) => leases.remove(lease, scope));
    try {
      if (!(await this.#run(`lease ${quoted}`, signal, (scope) => leases.create(lease, scope))))
        return undefined;
    } catch (error) {
      // It may have been created although its response was lost.
      release().catch(() => undefined);
      throw error;
    }
    return {
      renew: () => this.#run(`renew ${quoted}`, undefined, (scope) => leases.renew(lease, scope)),
      release,
    };
  }

  get #displayName(): string {
    return this.#driver.name.replace(/^t/, "T");
  }

  /**
   * Runs one driver operation until it ends, the caller cancels, the store closes or the time limit expires.
   * `description` completes error messages: `read "weather"`. `secrets` are redacted from them.
   */
  async #run<Result>(
    description: string,
    signal: AbortSignal | undefined,
    work: (cancellation: CancelScope) => Promise<Result>,
    secrets: readonly string[] = [],
  ): Promise<Result> {
    const ms = this.#options.timeoutMs;
    const createError = () =>
      new McpRuntimeError("timeout", `${this.#displayName} did not ${description} within ${ms} ms.`);
    return withSignal(signal, async (cancellation) => {
      const unsubscribe = this.#closed.onCancel((reason) => cancellation.cancel(reason));
      try {
        cancellation.throwIfCancelled();
        return await withDeadline({ ms, clock: systemClock, cancellation, createError }, (scope) =>
          scope.race(this.#track(work(scope))),
        );
      } catch (error) {
        throw cancellation.isCancelled ? error : this.#toFailure(error, description, secrets);
      } finally {
        unsubscribe();
      }
    });
  }

  #toFailure(error: unknown, description: string, secrets: readonly string[]): unknown {
    if (error instanceof InvalidEntryError || error instanceof McpRuntimeError) return error;
    const redactor = new Redactor([...secrets, ...(this.#driver.secrets ?? [])]);
    const cause = error instanceof Error ? redactedCopy(error, redactor) : undefined;
    const reason = cause === undefined ? "" : ` (${cause.code ?? cause.name})`;
    const { kind, text } = (cause && this.#driver.explainFailure?.(cause)) ?? UNAVAILABLE;
    const message = `${this.#displayName} could not ${description}${reason}. ${text}`;
    return new McpRuntimeError(kind, message, { cause });
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    const [oldest] = this.#pending;
    if (oldest !== undefined && this.#pending.size >= MAX_PENDING) this.#pending.delete(oldest);
    this.#pending.add(work);
    const untrack = () => this.#pending.delete(work);
    work.then(untrack, untrack);
    return work;
  }
}

/** The operations of a store that this package uses for tool lists, pins, registry records and published servers. */
export type LimitedStore = Pick<KeyValueStore, "get" | "set" | "delete" | "list" | "watch" | "lease">;

/** A store that did not respond is not used for this long: otherwise each of a thousand users would wait for it. */
const PAUSE_MS = 30_000;

/**
 * Adds a time limit to the operations of a store that an application implements, which may never settle. The stores of
 * this package have time limits of their own and are returned as they are.
 */
export function limitStore(store: KeyValueStore, clock: Clock): LimitedStore {
  return TIME_LIMITED in store ? store : new TimeLimitedStore(store, clock);
}

class TimeLimitedStore implements LimitedStore {
  readonly watch?: NonNullable<KeyValueStore["watch"]>;
  readonly lease?: NonNullable<KeyValueStore["lease"]>;
  readonly #store: KeyValueStore;
  readonly #clock: Clock;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(store: KeyValueStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    if (store.watch !== undefined) this.watch = (listener) => this.#watch(listener);
    if (store.lease !== undefined) this.lease = (key, options) => this.#lease(key, options);
  }

  get(key: string, options: StoreCallOptions = {}): Promise<JsonValue | undefined> {
    return this.#run(`read ${quoteKey(key)}`, options, (signal) => this.#store.get(key, { signal }));
  }

  set(key: string, value: unknown, options: StoreSetOptions = {}): Promise<void> {
    return this.#run(`write ${quoteKey(key)}`, options, (signal) =>
      this.#store.set(key, value, { ...options, signal }),
    );
  }

  delete(key: string, options: StoreCallOptions = {}): Promise<void> {
    return this.#run(`delete ${quoteKey(key)}`, options, (signal) => this.#store.delete(key, { signal }));
  }

  list(prefix: string, options: StoreCallOptions = {}): Promise<string[]> {
    return this.#run(`list ${quoteKey(prefix)}`, options, (signal) => this.#store.list(prefix, { signal }));
  }

  async #lease(key: string, options: StoreLeaseOptions): Promise<StoreLease | undefined> {
    const quoted = quoteKey(key);
    let pending: Promise<StoreLease | undefined> | undefined;
    const take = (signal: AbortSignal) =>
      (pending = (async () => this.#store.lease?.(key, { ...options, signal }))());
    try {
      const lease = toLease(await this.#run(`lease ${quoted}`, options, take));
      if (lease === undefined) return undefined;
      return {
        renew: () => this.#run(`renew ${quoted}`, {}, () => lease.renew()),
        release: () => this.#run(`release ${quoted}`, {}, () => lease.release()),
      };
    } catch (error) {
      // A lease that comes too late is not used.
      pending?.then((lease) => lease?.release()).catch(() => undefined);
      throw error;
    }
  }

  /** A subscription that takes longer is kept. Changes may be missed before it, so the listener is called after it. */
  async #watch(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    // A store of others may report anything: what is not a key is a change that may have been missed.
    const onChange = (key: unknown) => listener(typeof key === "string" ? key : undefined);
    const subscribing = (async () => this.#store.watch?.(onChange))();
    let isSettled = false;
    const settled = subscribing.finally(() => (isSettled = true));
    await settleWithin(STORE_DEFAULTS.timeoutMs, this.#clock, () => settled);
    if (isSettled) await subscribing;
    else subscribing.then(() => listener(undefined)).catch(() => undefined);
    return async () => (await subscribing)?.();
  }

  async #run<Result>(
    description: string,
    { signal: callerSignal }: StoreCallOptions,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { timeoutMs: ms } = STORE_DEFAULTS;
    const clock = this.#clock;
    const createError = () => {
      this.#pausedUntil = clock.now() + PAUSE_MS;
      const text = `The store did not ${description} within ${ms} ms. It is used again in ${PAUSE_MS / 1_000} s.`;
      return new McpRuntimeError("timeout", text);
    };
    return withSignal(callerSignal, async (cancellation) => {
      if (clock.now() < this.#pausedUntil)
        throw new McpRuntimeError(
          "unavailable",
          "The store did not respond earlier and is not used for a while.",
        );
      return withDeadline({ ms, clock, cancellation, createError }, (scope) => {
        const controller = new AbortController();
        scope.onCancel((reason) => controller.abort(reason));
        return scope.race((async () => work(controller.signal))());
      });
    });
  }
}

const MAX_MESSAGE_LENGTH = 300;

/** Redis repeats the first arguments of an unknown command in its error message. */
const REDIS_ARGUMENT_ECHO = /,? with args beginning with:.*/s;

/**
 * Errors of client libraries carry the failed command with all arguments, the connection and the password.
 * Only name, code, redacted message and stack are copied. The message may be any JSON that a server has returned.
 */
function redactedCopy(error: Error, redactor: Redactor): Error & { readonly code?: string } {
  const text = describeThrown(error);
  const message = redactor.redact(text.replace(REDIS_ARGUMENT_ECHO, "")).slice(0, MAX_MESSAGE_LENGTH);
  const code: unknown = Reflect.get(error, "code") ?? /^[A-Z]{3,}(?= )/.exec(text)?.[0];
  const copy = Object.assign(new Error(message), typeof code === "string" ? { code } : {});
  copy.name = printValue(error.name);
  const frames = printValue(error.stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  copy.stack = [`${copy.name}: ${message}`, ...frames].join("\n");
  return copy;
}
