import { systemClock } from "../../async/clock.js";
import { settleWithin } from "../../async/deadline.js";
import { closeClient, type ManagedRedisClient } from "./redis-client.js";
import { isStoreKey } from "../store-key.js";

interface RedisChangeFeedOptions {
  readonly channel: string;
  /** Identifies this process: its own changes are not reported. */
  readonly writerId: string;
  /** Creates a client that reconnects automatically. */
  readonly createClient: () => Promise<ManagedRedisClient>;
  readonly timeoutMs: number;
  readonly warn: (message: string) => void;
}

type Listener = (key: string | undefined) => void;

/** Encodes the message that is published when an entry changes. */
export function encodeChange(writerId: string, key: string): string {
  return `${writerId} ${key}`;
}

/** Reports changes by other processes over one connection, which is open while there are listeners. */
export class RedisChangeFeed {
  readonly #options: RedisChangeFeedOptions;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #subscription: Promise<ChannelSubscription> | undefined;

  constructor(options: RedisChangeFeedOptions) {
    this.#options = options;
  }

  async watch(listener: Listener): Promise<() => Promise<void>> {
    const registration = { listener };
    this.#listeners.add(registration);
    const unsubscribe = async () => {
      this.#listeners.delete(registration);
      if (this.#listeners.size === 0) await this.close();
    };
    try {
      this.#subscription ??= ChannelSubscription.open(this.#options, (key) => this.#notify(key));
      await (await this.#subscription).waitUntilListening();
    } catch (error) {
      await unsubscribe();
      throw error;
    }
    return unsubscribe;
  }

  async close(): Promise<void> {
    const opening = this.#subscription;
    this.#subscription = undefined;
    const subscription = await opening?.catch(() => undefined);
    await subscription?.close();
  }

  #notify(key: string | undefined): void {
    for (const { listener } of this.#listeners) {
      try {
        listener(key);
      } catch {
        this.#options.warn("A change listener of a Redis store failed.");
      }
    }
  }
}

class ChannelSubscription {
  readonly #client: ManagedRedisClient;
  readonly #options: RedisChangeFeedOptions;
  readonly #listening: Promise<void>;
  /** True once `watch` has resolved: changes missed before a later (re)subscription must be reported. */
  #hasSubscribed = false;

  static async open(options: RedisChangeFeedOptions, notify: Listener): Promise<ChannelSubscription> {
    return new ChannelSubscription(await options.createClient(), options, notify);
  }

  private constructor(client: ManagedRedisClient, options: RedisChangeFeedOptions, notify: Listener) {
    this.#client = client;
    this.#options = options;
    // Without a listener, ioredis prints errors to the console.
    client.on("error", () => undefined);
    client.on("message", (_channel: string, message: string) => {
      const key = this.#parseKey(message);
      if (key !== undefined) notify(key);
    });
    this.#listening = new Promise((resolve) => {
      const listen = async () => {
        await client.call("subscribe", options.channel);
        resolve();
        if (this.#hasSubscribed) notify(undefined);
      };
      client.on("ready", () => {
        // If the connection drops meanwhile, the client reconnects and this runs again.
        listen().catch(() => undefined);
      });
    });
    client.connect().catch(() => undefined);
  }

  async waitUntilListening(): Promise<void> {
    let isListening = false;
    const listening = this.#listening.then(() => {
      isListening = true;
    });
    await settleWithin(this.#options.timeoutMs, systemClock, () => listening);
    this.#hasSubscribed = true;
    if (!isListening)
      this.#options.warn(
        "A Redis store could not subscribe to changes yet. It keeps trying in the background.",
      );
  }

  async close(): Promise<void> {
    await closeClient(this.#client);
  }

  /** Any client of the server can publish to the channel: ignore invalid messages. */
  #parseKey(message: string): string | undefined {
    const end = message.indexOf(" ");
    const key = message.slice(end + 1);
    const isOwn = message.slice(0, end) === this.#options.writerId;
    return end === -1 || isOwn || !isStoreKey(key) ? undefined : key;
  }
}
