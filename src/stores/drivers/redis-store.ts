import { tryDecodeURIComponent } from "../../config/collect-secrets.js";
import { configError } from "../../errors/mcp-runtime-error.js";
import { describeValue } from "../../json/describe-value.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import type { KeyValueStore } from "../key-value-store.js";
import {
  type ManagedRedisClient,
  managedClientOptions,
  type RedisClient,
  LazyRedisConnection,
  type RedisConnection,
  RedisChangeFeed,
} from "./redis-client.js";
import { DriverStore, type DriverEntry, type StoreDriver } from "../driver-store.js";
import { InvalidEntryError } from "../stored-record.js";
import {
  type NamespacedStoreOptions,
  resolveStoreOptions,
  type ResolvedStoreOptions,
} from "../store-options.js";
import type { CancelScope } from "../../async/cancel-scope.js";

/** Options of `redisStore`. */
export type RedisStoreOptions = NamespacedStoreOptions;

/** Upper limit of the exponential reconnect delay of the change feed. */
const MAX_RECONNECT_DELAY_MS = 5_000;

/**
 * Creates a store in Redis, shared by many processes, with a change feed. Takes a URL (`redis://` or
 * `rediss://`) or an ioredis client, which is not closed with the store. Requires the package `ioredis`, which is
 * loaded on first use.
 *
 * @throws McpRuntimeError `invalid-config` for invalid options
 * @example
 * ```ts
 * await using store = redisStore("redis://localhost:6379");
 * const toolset = await createMcpTools(servers, { cache: { store } });
 * ```
 */
export function redisStore(
  urlOrClient: string | RedisClient,
  options: RedisStoreOptions = {},
): KeyValueStore {
  const config = resolveStoreOptions("The Redis store", options);
  const managedOptions = managedClientOptions(config.timeoutMs);
  const target =
    typeof urlOrClient === "string"
      ? targetFromUrl(urlOrClient, managedOptions)
      : targetFromClient(urlOrClient, managedOptions);
  return new DriverStore(new RedisDriver(target, config), config);
}

interface RedisTarget {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly connection: RedisConnection;
  /** The `keyPrefix` of the client, which it adds to every key but does not strip from SCAN results. */
  readonly clientPrefix: string;
  readonly createSubscriber: () => Promise<ManagedRedisClient>;
}

function targetFromUrl(address: string, managedOptions: object): RedisTarget {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["redis:", "rediss:"].includes(url.protocol)) throw invalidTargetError(address);
  const create = (options: object) => createClient(address, { ...managedOptions, ...options });
  return {
    name: `the Redis store at ${url.host}`,
    secrets: [url.password, tryDecodeURIComponent(url.password)],
    connection: new LazyRedisConnection(() => create({ retryStrategy: null })),
    clientPrefix: "",
    createSubscriber: () => create({ retryStrategy: reconnectDelay }),
  };
}

function targetFromClient(client: RedisClient, managedOptions: object): RedisTarget {
  if (typeof client?.call !== "function" || typeof client.duplicate !== "function")
    throw invalidTargetError(client);
  if (Reflect.get(client, "isCluster") === true) {
    const message = "expected a client of one Redis, got one of a cluster";
    throw configError("The Redis store", [{ path: "", message }]);
  }
  const { keyPrefix, password } = client.options as Record<string, unknown>;
  const connection: RedisConnection = {
    call: (command, ...args) => client.call(command, ...args),
    close: async () => undefined,
  };
  return {
    name: "the Redis store",
    secrets: typeof password === "string" ? [password] : [],
    connection,
    clientPrefix: typeof keyPrefix === "string" ? keyPrefix : "",
    createSubscriber: async () =>
      client.duplicate({ ...managedOptions, retryStrategy: reconnectDelay }) as ManagedRedisClient,
  };
}

async function createClient(address: string, options: object): Promise<ManagedRedisClient> {
  const { Redis } = await loadOptionalDependency("ioredis", {
    neededBy: "A Redis store",
    load: () => import("ioredis"),
  });
  return new Redis(address, options);
}

function reconnectDelay(attempt: number): number {
  return Math.min(100 * 2 ** (attempt - 1), MAX_RECONNECT_DELAY_MS);
}

function invalidTargetError(value: unknown): Error {
  // The string may be a URL with a password: do not repeat it.
  const received = typeof value === "string" ? "a string" : describeValue(value);
  const message = `expected redis://…, rediss://… or an ioredis client, got ${received}`;
  return configError("The Redis store", [{ path: "", message }]);
}

const SCAN_STEP = 1_000;

/** Stores one Redis string per entry, with its expiry, and publishes every change. */
class RedisDriver implements StoreDriver {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly #connection: RedisConnection;
  readonly #options: ResolvedStoreOptions;
  readonly #prefix: string;
  readonly #clientPrefix: string;
  readonly #feed: RedisChangeFeed;

  constructor(target: RedisTarget, config: ResolvedStoreOptions) {
    this.name = target.name;
    this.secrets = target.secrets;
    this.#connection = target.connection;
    this.#options = config;
    this.#prefix = `${config.namespace}:`;
    this.#clientPrefix = target.clientPrefix;
    this.#feed = new RedisChangeFeed(target.createSubscriber, config);
  }

  async read(key: string): Promise<string | undefined> {
    const { maxBytes } = this.#options;
    try {
      // One byte more than allowed is enough to detect an oversized entry.
      const text = await this.#connection.call("getrange", this.#prefix + key, 0, maxBytes);
      return typeof text === "string" && text !== "" ? text : undefined;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("WRONGTYPE"))
        throw new InvalidEntryError("is not a string");
      throw error;
    }
  }

  async write({ key, text, ttlMs }: DriverEntry): Promise<void> {
    const expiry = ttlMs === undefined ? [] : ["px", Math.ceil(ttlMs)];
    await this.#change(key, ["set", this.#prefix + key, text, ...expiry]);
  }

  async remove(key: string): Promise<void> {
    await this.#change(key, ["del", this.#prefix + key]);
  }

  /** Scans the whole database: Redis has no index by prefix. */
  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const fullPrefix = this.#clientPrefix + this.#prefix;
    const pattern = `${escapePattern(fullPrefix + prefix)}*`;
    const matches = new Set<string>();
    let cursor = "0";
    do {
      cancellation.throwIfCancelled();
      const page = await this.#connection.call("scan", cursor, "match", pattern, "count", SCAN_STEP);
      const [next, keys] = page as [string, string[]];
      for (const key of keys) matches.add(key.slice(fullPrefix.length));
      cursor = next;
    } while (cursor !== "0");
    return [...matches];
  }

  watch(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    return this.#feed.watch(listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#feed.close(), this.#connection.close()]);
  }

  /** Pipelines the command and the notification: Redis runs them in this order in one round trip. */
  async #change(key: string, command: readonly [string, ...(string | number)[]]): Promise<void> {
    const changed = this.#connection.call(...command);
    await Promise.all([changed, this.#publish(key)]);
  }

  /** Best effort: the store works without the permission to publish. */
  async #publish(key: string): Promise<void> {
    try {
      await this.#connection.call("publish", this.#feed.channel, this.#feed.encodeChange(key));
    } catch {
      this.#options.logger.debug(`${this.name} could not publish a change.`);
    }
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, String.raw`\$&`);
}
