/** What is used of an ioredis client, so that one of your own can be given. */
export interface RedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** The change feed needs a connection to itself. */
  duplicate(options: object): object;
  readonly options: object;
}

/** A client that we have made: its life is ours, too. */
export interface OwnRedisClient extends RedisClient {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
}

/** For every client of ours: nothing waits in a queue for a Redis that is not there. */
export function ownClientOptions(timeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // A server that is still loading says so itself, and INFO is often forbidden.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    disconnectTimeout: timeoutMs,
    // A connection that says nothing for so long is given up, or every later command would wait on it in
    // vain. A little more than the operation's own limit, which is to be the one that is told.
    socketTimeout: timeoutMs + 100,
    keyPrefix: "",
  };
}

/** Ends the connection, and waits until it is gone. */
export async function closeClient(client: OwnRedisClient): Promise<void> {
  const isConnected = !["end", "close", "reconnecting"].includes(client.status);
  const ended = new Promise<void>((resolve) => void client.once("end", resolve));
  client.disconnect();
  if (isConnected) await ended;
}
