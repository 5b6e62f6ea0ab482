/** The part of an ioredis client that the store uses. */
export interface RedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Used for the separate connection of the change feed. */
  duplicate(options: object): object;
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
export async function closeClient(client: ManagedRedisClient): Promise<void> {
  const isConnected = !["end", "close", "reconnecting"].includes(client.status);
  const ended = new Promise<void>((resolve) => void client.once("end", resolve));
  client.disconnect();
  if (isConnected) await ended;
}

/** Sends commands to Redis. */
export interface RedisConnection {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * A connection that is opened by the first command and reopened by the next command after it was lost. It
 * never reconnects in the background.
 */
export class LazyRedisConnection implements RedisConnection {
  readonly #create: () => Promise<ManagedRedisClient>;
  #client: Promise<ManagedRedisClient> | undefined;
  #connecting: Promise<void> | undefined;
  /** ioredis rejects with "Connection is closed" and emits the reason as an event. */
  #lastError: unknown;

  constructor(create: () => Promise<ManagedRedisClient>) {
    this.#create = create;
  }

  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    this.#client ??= this.#open();
    const client = await this.#client;
    if (client.status !== "ready") {
      this.#connecting ??= this.#connect(client);
      await this.#connecting;
    }
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
    try {
      await client.connect();
    } catch (error) {
      throw this.#lastError ?? error;
    } finally {
      this.#connecting = undefined;
    }
  }
}
