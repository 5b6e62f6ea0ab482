import { systemClock } from "../../async/clock.js";
import { within } from "../../async/settle-within.js";
import { closeClient, type OwnRedisClient } from "./redis-client.js";
import { isStoreKey } from "../store-key.js";

interface RedisFeedOptions {
  readonly channel: string;
  /** Who we are: our own changes are no news. */
  readonly writer: string;
  /** A client that connects again by itself. */
  readonly createClient: () => Promise<OwnRedisClient>;
  readonly timeoutMs: number;
  readonly warn: (message: string) => void;
}

type Listener = (key: string | undefined) => void;

/** What is published when an entry has changed. */
export function toChangeMessage(writer: string, key: string): string {
  return `${writer} ${key}`;
}

/** The changes of others, over one connection that lasts for as long as somebody listens. */
export class RedisFeed {
  readonly #options: RedisFeedOptions;
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #subscription: Promise<Subscription> | undefined;

  constructor(options: RedisFeedOptions) {
    this.#options = options;
  }

  async watch(listener: Listener): Promise<() => Promise<void>> {
    const registration = { listener };
    this.#listeners.add(registration);
    const leave = async () => {
      this.#listeners.delete(registration);
      if (this.#listeners.size === 0) await this.close();
    };
    try {
      this.#subscription ??= Subscription.open(this.#options, (key) => this.#tell(key));
      await (await this.#subscription).waitUntilListening();
    } catch (error) {
      await leave();
      throw error;
    }
    return leave;
  }

  async close(): Promise<void> {
    const opening = this.#subscription;
    this.#subscription = undefined;
    const subscription = await opening?.catch(() => undefined);
    await subscription?.close();
  }

  #tell(key: string | undefined): void {
    for (const { listener } of this.#listeners) {
      try {
        listener(key);
      } catch {
        this.#options.warn("A listener to the changes of a Redis store failed.");
      }
    }
  }
}

class Subscription {
  readonly #client: OwnRedisClient;
  readonly #options: RedisFeedOptions;
  readonly #listening: Promise<void>;
  /** Somebody relies on being told: what was missed until now has to be told as well. */
  #isReliedOn = false;

  static async open(options: RedisFeedOptions, tell: Listener): Promise<Subscription> {
    return new Subscription(await options.createClient(), options, tell);
  }

  private constructor(client: OwnRedisClient, options: RedisFeedOptions, tell: Listener) {
    this.#client = client;
    this.#options = options;
    // Without a listener ioredis prints them.
    client.on("error", () => undefined);
    client.on("message", (_channel: string, message: string) => {
      const key = this.#keyOf(message);
      if (key !== undefined) tell(key);
    });
    this.#listening = new Promise((resolve) => {
      const listen = async () => {
        await client.call("subscribe", options.channel);
        resolve();
        if (this.#isReliedOn) tell(undefined);
      };
      client.on("ready", () => {
        // A connection that breaks in between comes back, and then this runs again.
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
    await within(this.#options.timeoutMs, systemClock, () => listening);
    this.#isReliedOn = true;
    if (!isListening) this.#options.warn("A Redis store cannot hear of changes yet. It goes on trying.");
  }

  async close(): Promise<void> {
    await closeClient(this.#client);
  }

  /** Anybody can publish anything there. */
  #keyOf(message: string): string | undefined {
    const end = message.indexOf(" ");
    const key = message.slice(end + 1);
    const isOwn = message.slice(0, end) === this.#options.writer;
    return end === -1 || isOwn || !isStoreKey(key) ? undefined : key;
  }
}
