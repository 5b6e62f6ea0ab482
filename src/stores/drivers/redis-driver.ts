import { randomBytes } from "node:crypto";
import type { CancelScope } from "../../async/cancel-scope.js";
import type { OwnRedisClient } from "./redis-client.js";
import type { RedisConnection } from "./redis-connection.js";
import { RedisFeed, toChangeMessage } from "./redis-change-feed.js";
import type { StoreSpec } from "../store-options.js";
import { type ShelfEntry, type StoreDriver, UnsoundEntry } from "../store-driver.js";

interface RedisShelfOptions {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly connection: RedisConnection;
  /** What the client puts before every key by itself, and does not take away from what SCAN finds. */
  readonly clientPrefix: string;
  readonly createSubscriber: () => Promise<OwnRedisClient>;
}

const SCAN_STEP = 1_000;

/** One string for each entry, with Redis' own expiry; every change is published. */
export class RedisShelf implements StoreDriver {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly #connection: RedisConnection;
  readonly #spec: StoreSpec;
  readonly #prefix: string;
  readonly #clientPrefix: string;
  readonly #channel: string;
  readonly #writer = randomBytes(8).toString("hex");
  readonly #feed: RedisFeed;

  constructor(
    { name, secrets, connection, clientPrefix, createSubscriber }: RedisShelfOptions,
    config: StoreSpec,
  ) {
    this.name = name;
    this.secrets = secrets;
    this.#connection = connection;
    this.#spec = config;
    this.#prefix = `${config.namespace}:`;
    this.#clientPrefix = clientPrefix;
    this.#channel = `${this.#prefix}changes`;
    this.#feed = new RedisFeed({
      channel: this.#channel,
      writer: this.#writer,
      createClient: createSubscriber,
      timeoutMs: config.timeoutMs,
      warn: (message) => config.logger.warn(message),
    });
  }

  async read(key: string): Promise<string | undefined> {
    const { maxBytes } = this.#spec;
    try {
      // At most one byte more than is allowed: enough to see that it is too much.
      const text = await this.#connection.call("getrange", this.#prefix + key, 0, maxBytes);
      return typeof text === "string" && text !== "" ? text : undefined;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("WRONGTYPE"))
        throw new UnsoundEntry("is not a text");
      throw error;
    }
  }

  async write({ key, text, ttlMs }: ShelfEntry): Promise<void> {
    const expiry = ttlMs === undefined ? [] : ["px", Math.ceil(ttlMs)];
    await this.#change(key, ["set", this.#prefix + key, text, ...expiry]);
  }

  async remove(key: string): Promise<void> {
    await this.#change(key, ["del", this.#prefix + key]);
  }

  /** Looks through the whole database: Redis has no other way to find keys by their beginning. */
  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const own = this.#clientPrefix + this.#prefix;
    const pattern = `${escapePattern(own + prefix)}*`;
    const found = new Set<string>();
    let cursor = "0";
    do {
      cancellation.throwIfCancelled();
      const page = await this.#connection.call("scan", cursor, "match", pattern, "count", SCAN_STEP);
      const [next, keys] = page as [string, string[]];
      for (const key of keys) found.add(key.slice(own.length));
      cursor = next;
    } while (cursor !== "0");
    return [...found];
  }

  watch(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    return this.#feed.watch(listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#feed.close(), this.#connection.close()]);
  }

  /** Redis runs the two in this order, and they cost one round trip. */
  async #change(key: string, command: readonly [string, ...(string | number)[]]): Promise<void> {
    const changed = this.#connection.call(...command);
    await Promise.all([changed, this.#publish(key)]);
  }

  /** A hint: who may not publish has a store all the same. */
  async #publish(key: string): Promise<void> {
    try {
      await this.#connection.call("publish", this.#channel, toChangeMessage(this.#writer, key));
    } catch {
      this.#spec.logger.debug(`${this.name} could not tell others of a change.`);
    }
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, String.raw`\$&`);
}
