import { closeClient, type OwnRedisClient } from "./redis-client.js";

/** Where commands go. */
export interface RedisConnection {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * A connection of our own, made when it is first used, and anew when it is used after it was lost.
 * Nothing happens in the background: a Redis that is down costs a refused connection for each use.
 */
export class OwnRedisConnection implements RedisConnection {
  readonly #create: () => Promise<OwnRedisClient>;
  #client: Promise<OwnRedisClient> | undefined;
  #connecting: Promise<void> | undefined;
  /** ioredis rejects with "Connection is closed" and tells the reason as an event. */
  #lastError: unknown;

  constructor(create: () => Promise<OwnRedisClient>) {
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

  async #open(): Promise<OwnRedisClient> {
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

  async #connect(client: OwnRedisClient): Promise<void> {
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
