import { randomBytes } from "node:crypto";
import { systemClock, settleWithin } from "../../async/clock.js";
import { SingleFlight } from "../../async/single-flight.js";
import { isStoreKey } from "../key-value-store.js";
import type { ResolvedStoreOptions } from "../store-options.js";

/** The part of an ioredis client that the store uses. */
export interface RedisClient {
  /** Sends a command and returns its reply. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Used for the separate connection of the change feed. */
  duplicate(options: object): object;
  /** The options of the client; `keyPrefix` and `password` are read. */
  readonly options: object;
}

/** A client that the store creates and closes. */
export interface ManagedRedisClient extends RedisClient {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
}

/** Options of every client that the store creates: commands fail at once while Redis is not connected. */
export function managedClientOptions(timeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // A loading server reports it with every command, and INFO is often not permitted.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    disconnectTimeout: timeoutMs,
    // Closes an unresponsive connection, on which later commands would time out as well. Slightly longer than the
    // time limit of an operation, so that the operation reports its own timeout.
    socketTimeout: timeoutMs + 100,
    keyPrefix: "",
  };
}

/** Disconnects and waits until the connection is closed. */
async function closeClient(client: ManagedRedisClient): Promise<void> {
  const isConnected = !["end", "close", "reconnecting"].includes(client.status);
  const ended = new Promise<void>((resolve) => void client.once("end", resolve));
  client.disconnect();
  if (isConnected) await ended;
}

/** Sends commands to Redis. */
export type RedisConnection = Pick<LazyRedisConnection, "call" | "close">;

/**
 * A connection that is opened by the first command and reopened by the next command after it was lost. It
 * never reconnects in the background.
 */
export class LazyRedisConnection {
  readonly #create: () => Promise<ManagedRedisClient>;
  readonly #connecting = new SingleFlight<ManagedRedisClient, void>();
  #client: Promise<ManagedRedisClient> | undefined;
  /** ioredis rejects with "Connection is closed" and emits the reason as an event. */
  #lastError: unknown;

  constructor(create: () => Promise<ManagedRedisClient>) {
    this.#create = create;
  }

  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    this.#client ??= this.#open();
    const client = await this.#client;
    if (client.status !== "ready") await this.#connecting.run(client, () => this.#connect(client));
    return client.call(command, ...args);
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    if (client !== undefined) await closeClient(client);
  }

  async #open(): Promise<ManagedRedisClient> {
    try {
      const client = await this.#create();
      client.on("error", (error: unknown) => {
        this.#lastError = error;
      });
      return client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }

  async #connect(client: ManagedRedisClient): Promise<void> {
    this.#lastError = undefined;
    await client.connect().catch((error: unknown) => {
      throw this.#lastError ?? error;
    });
  }
}

type Listener = (key: string | undefined) => void;

/** The connection of a change feed. */
interface Subscription {
  readonly client: ManagedRedisClient;
  /** Resolves when the channel is subscribed for the first time. */
  readonly ready: Promise<void>;
  isReady: boolean;
  /** True once `watch` has resolved: changes missed before a later (re)subscription must be reported. */
  isWatched: boolean;
}

/** Reports changes by other processes over one connection, which is open while there are listeners. */
export class RedisChangeFeed {
  /** The channel that every change is published to. */
  readonly channel: string;
  readonly #createClient: () => Promise<ManagedRedisClient>;
  readonly #options: ResolvedStoreOptions;
  /** Identifies this process: its own changes are not reported. */
  readonly #writerId = randomBytes(8).toString("hex");
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #subscription: Promise<Subscription> | undefined;

  /** `createClient` creates a client that reconnects automatically. */
  constructor(createClient: () => Promise<ManagedRedisClient>, options: ResolvedStoreOptions) {
    this.channel = `${options.namespace}:changes`;
    this.#createClient = createClient;
    this.#options = options;
  }

  /** Encodes the message that is published when an entry changes. */
  encodeChange(key: string): string {
    return `${this.#writerId} ${key}`;
  }

  async watch(listener: Listener): Promise<() => Promise<void>> {
    const registration = { listener };
    this.#listeners.add(registration);
    const unsubscribe = async () => {
      this.#listeners.delete(registration);
      if (this.#listeners.size === 0) await this.close();
    };
    try {
      this.#subscription ??= this.#subscribe();
      await this.#waitUntilReady(await this.#subscription);
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
    if (subscription !== undefined) await closeClient(subscription.client);
  }

  async #subscribe(): Promise<Subscription> {
    const client = await this.#createClient();
    // Without a listener, ioredis prints errors to the console.
    client.on("error", () => undefined);
    client.on("message", (_channel: string, message: string) => {
      const key = this.#parseKey(message);
      if (key !== undefined) this.#notify(key);
    });
    const listen = async (onReady: () => void) => {
      await client.call("subscribe", this.channel);
      subscription.isReady = true;
      onReady();
      if (subscription.isWatched) this.#notify(undefined);
    };
    const ready = new Promise<void>((resolve) => {
      client.on("ready", () => {
        // If the connection drops meanwhile, the client reconnects and this runs again.
        listen(resolve).catch(() => undefined);
      });
    });
    const subscription: Subscription = { client, ready, isReady: false, isWatched: false };
    client.connect().catch(() => undefined);
    return subscription;
  }

  async #waitUntilReady(subscription: Subscription): Promise<void> {
    const { timeoutMs, logger } = this.#options;
    await settleWithin(timeoutMs, systemClock, () => subscription.ready);
    subscription.isWatched = true;
    if (!subscription.isReady)
      logger.warn("A Redis store could not subscribe to changes yet. It keeps trying in the background.");
  }

  #notify(key: string | undefined): void {
    for (const { listener } of this.#listeners) {
      try {
        listener(key);
      } catch {
        this.#options.logger.warn("A change listener of a Redis store failed.");
      }
    }
  }

  /** Any client of the server can publish to the channel: ignore invalid messages. */
  #parseKey(message: string): string | undefined {
    const end = message.indexOf(" ");
    const key = message.slice(end + 1);
    const isOwn = message.slice(0, end) === this.#writerId;
    return end === -1 || isOwn || !isStoreKey(key) ? undefined : key;
  }
}
