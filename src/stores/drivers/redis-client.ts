import { randomBytes } from "node:crypto";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { CancelScope } from "../../async/cancel-scope.js";
import { delay, systemClock, settleWithin } from "../../async/clock.js";
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

/** The part of an ioredis `Cluster` that the store uses. */
export interface RedisClusterClient {
  /** True for a `Cluster`. */
  readonly isCluster: boolean;
  /** The addresses of the nodes that serve a slot, the master first. */
  readonly slots: readonly (readonly string[])[];
  /** The options of the client; `keyPrefix` and `redisOptions` are read. */
  readonly options: object;
  /** Sends a command to the master of its key and returns its reply. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Returns a client for each known node. */
  nodes(role: "all"): readonly RedisClient[];
  /** Reads the slots again. */
  refreshSlotsCache(callback: (error?: Error | null) => void): void;
}

interface ClientLifecycle {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(): void;
  on(event: string, listener: (...args: never[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
}

/** A client that the store creates and closes. */
export type ManagedRedisClient = RedisClient & ClientLifecycle;
export type ManagedRedisCluster = RedisClusterClient & ClientLifecycle;

/** Options of every client that the store creates: commands fail at once while Redis is not connected. */
export function managedClientOptions(timeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    retryStrategy: null,
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

/** The last error that a client has emitted as an event. */
interface EmittedErrors {
  last: unknown;
}

function trackErrors(client: ClientLifecycle): EmittedErrors {
  const errors: EmittedErrors = { last: undefined };
  client.on("error", (error: { lastNodeError?: unknown }) => {
    errors.last = error.lastNodeError ?? error;
  });
  return errors;
}

/**
 * ioredis rejects with "Connection is closed" and emits the reason as an event. ioredis 5 also resolves after a rejected
 * AUTH, although it has disconnected.
 */
async function connectClient(client: ClientLifecycle, errors = trackErrors(client)): Promise<void> {
  await client.connect().catch((error: unknown) => {
    throw errors.last ?? error;
  });
  if (isAuthError(errors.last)) throw errors.last;
}

function isAuthError(error: unknown): boolean {
  return error instanceof Error && (error as { command?: { name?: string } }).command?.name === "auth";
}

/** Disconnects and waits until the connection is closed. */
async function closeClient(client: ClientLifecycle): Promise<void> {
  const isConnected = !["end", "close", "reconnecting"].includes(client.status);
  const ended = new Promise<void>((resolve) => void client.once("end", resolve));
  disconnect(client);
  if (isConnected) await ended;
}

/** ioredis would wait `disconnectTimeout` for the end of a connection that has ended, and keep the process alive. */
function disconnect(client: ClientLifecycle): void {
  if (client.status !== "end") client.disconnect();
}

/**
 * A client that is created and connected by the first command and connected again by the next command after its
 * connection was lost. It never reconnects in the background.
 */
export class LazyConnection<Client extends ClientLifecycle> {
  readonly #create: () => Promise<Client>;
  readonly #createProbe: (() => Promise<ManagedRedisClient>) | undefined;
  readonly #connecting = new SingleFlight<Client, void>();
  #client: Promise<Client> | undefined;
  #errors: EmittedErrors = { last: undefined };
  #isClosed = false;

  /** @param createProbe creates a client of a node of a cluster: a `Cluster` does not report why it cannot connect */
  constructor(create: () => Promise<Client>, createProbe?: () => Promise<ManagedRedisClient>) {
    this.#create = create;
    this.#createProbe = createProbe;
  }

  /** The response to a rejected AUTH. Before 5.9, ioredis does not wait for it. */
  get authError(): unknown {
    return isAuthError(this.#errors.last) ? this.#errors.last : undefined;
  }

  /** Returns the connected client. */
  async open(): Promise<Client> {
    if (this.#isClosed) throw new Error("Connection is closed.");
    this.#client ??= this.#createClient();
    const client = await this.#client;
    if (client.status !== "ready") await this.#connecting.run(client, () => this.#connect(client));
    return client;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    if (client !== undefined) await closeClient(client);
  }

  async #createClient(): Promise<Client> {
    try {
      const client = await this.#create();
      this.#errors = trackErrors(client);
      return client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }

  async #connect(client: Client): Promise<void> {
    this.#errors.last = undefined;
    try {
      await connectClient(client, this.#errors);
    } catch (error) {
      // A client of ioredis 5 has the status "ready" after some failures.
      this.#client = undefined;
      disconnect(client);
      const isUnexplained = error instanceof Error && error.message === "Connection is closed.";
      if (isUnexplained && this.#createProbe !== undefined) await probe(await this.#createProbe());
      throw error;
    }
  }
}

/** Rejects with the reason if a client cannot connect. */
async function probe(client: ManagedRedisClient): Promise<void> {
  try {
    await connectClient(client);
  } finally {
    disconnect(client);
  }
}

/** The Redis, or the cluster, of a store. */
export interface RedisTarget {
  /** For messages: `the Redis store at localhost:6379`. */
  readonly name: string;
  readonly secrets: readonly string[];
  readonly isCluster: boolean;
  /** The `keyPrefix` of the client, which it adds to every key but does not strip from SCAN results. */
  readonly clientPrefix: string;
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Returns clients of the nodes that together have all keys. */
  findMasters(): Promise<readonly Pick<RedisClient, "call">[]>;
  /** Creates a client that can subscribe to the channel. It is not connected and does not reconnect. */
  createSubscriber(channel: string): Promise<ManagedRedisClient>;
  close(): Promise<void>;
}

/** Upper limit of the exponential reconnect delay. */
const MAX_RECONNECT_DELAY_MS = 5_000;
/** How many time limits pass between two pings. They detect a connection that was lost without being closed. */
const TIMEOUTS_PER_PING = 5;

type Listener = (key: string | undefined) => void;

/** The subscription of a change feed, across reconnects. */
class Subscription {
  readonly stopped = new CancelScope();
  /** Resolves when the channel is subscribed for the first time, or cannot be: the reason is then logged. */
  readonly settled: Promise<void>;
  settle: () => void = () => undefined;
  client: ManagedRedisClient | undefined;
  problem: string | undefined;
  /** Set if it can never be subscribed, because the client package is missing. */
  failure: McpRuntimeError | undefined;
  isSubscribed = false;
  /** True once `watch` has resolved: changes missed before a later (re)subscription must be reported. */
  isWatched = false;

  constructor() {
    this.settled = new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}

interface ChangeFeedOptions extends Pick<ResolvedStoreOptions, "namespace" | "timeoutMs" | "logger"> {
  /** Describes an error that does not go away by trying again: missing rights, wrong credentials. */
  readonly describeDenial: (error: unknown) => string | undefined;
}

/**
 * Publishes changes, and reports those of other processes over one connection, which is open while there are
 * listeners. In a cluster it is a connection to the master of the channel's slot.
 */
export class RedisChangeFeed {
  /** The name as Redis sees it. ioredis adds the key prefix of the client to a sharded channel. */
  readonly channel: string;
  readonly #unprefixedChannel: string;
  readonly #target: RedisTarget;
  readonly #options: ChangeFeedOptions;
  /** Identifies this process: its own changes are not reported. */
  readonly #writerId = randomBytes(8).toString("hex");
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  #subscription: Subscription | undefined;
  #hasWarned = false;

  constructor(target: RedisTarget, options: ChangeFeedOptions) {
    this.#unprefixedChannel = `${options.namespace}:changes`;
    this.channel = (target.isCluster ? target.clientPrefix : "") + this.#unprefixedChannel;
    this.#target = target;
    this.#options = options;
  }

  /** Best effort: the store works without the permission to publish. Never rejects. */
  async publish(key: string): Promise<void> {
    const message = `${this.#writerId} ${key}`;
    const { logger, describeDenial } = this.#options;
    try {
      await withShardedPubSub(
        this.#target,
        () => this.#target.call("spublish", this.#unprefixedChannel, message),
        () => this.#target.call("publish", this.channel, message),
      );
    } catch (error) {
      const denial = describeDenial(error);
      const text = `${this.#target.name} could not publish a change; other processes do not notice it at once.`;
      if (denial === undefined || this.#hasWarned) return logger.debug(text);
      this.#hasWarned = true;
      logger.warn(`${text} ${denial}`);
    }
  }

  async watch(listener: Listener): Promise<() => Promise<void>> {
    const { timeoutMs, logger } = this.#options;
    const registration = { listener };
    this.#listeners.add(registration);
    const subscription = (this.#subscription ??= this.#subscribe());
    await settleWithin(timeoutMs, systemClock, () => subscription.settled);
    if (subscription.failure !== undefined) {
      this.#listeners.delete(registration);
      await this.close();
      throw subscription.failure;
    }
    subscription.isWatched = true;
    if (!subscription.isSubscribed && subscription.problem === undefined)
      logger.warn(
        `${this.#target.name} could not subscribe to changes yet. It keeps trying in the background.`,
      );
    return async () => {
      this.#listeners.delete(registration);
      if (this.#listeners.size === 0) await this.close();
    };
  }

  async close(): Promise<void> {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    subscription?.stopped.cancel(undefined);
    if (subscription?.client !== undefined) await closeClient(subscription.client);
  }

  #subscribe(): Subscription {
    const subscription = new Subscription();
    void this.#keepSubscribed(subscription);
    return subscription;
  }

  /** Never rejects. */
  async #keepSubscribed(subscription: Subscription): Promise<void> {
    const { stopped } = subscription;
    for (let failures = 0; !stopped.isCancelled; failures += 1) {
      try {
        if (await this.#listen(subscription)) failures = 0;
      } catch (error) {
        if (error instanceof McpRuntimeError) {
          subscription.failure = error;
          return subscription.settle();
        }
        this.#reportDenial(subscription, error);
      }
      const delayMs = Math.min(100 * 2 ** failures, MAX_RECONNECT_DELAY_MS);
      await delay(delayMs, systemClock, stopped).catch(() => undefined);
    }
  }

  /** Returns when the connection has ended: whether it was subscribed. */
  async #listen(subscription: Subscription): Promise<boolean> {
    const client = await this.#target.createSubscriber(this.channel);
    if (subscription.stopped.isCancelled) return false;
    subscription.client = client;
    let isListening = false;
    client.on("error", () => {
      // ioredis 5 reports a channel that has moved to another master as an error in its state.
      if (isListening) disconnect(client);
    });
    for (const event of ["message", "smessage"])
      client.on(event, (_channel: string, message: string) => this.#receive(message));
    client.on("moved", () => disconnect(client));
    const ended = new Promise<void>((resolve) => void client.once("end", resolve));
    let pings: NodeJS.Timeout | undefined;
    try {
      await connectClient(client);
      await withShardedPubSub(
        this.#target,
        () => client.call("ssubscribe", this.channel),
        () => client.call("subscribe", this.channel),
      );
      isListening = true;
      subscription.isSubscribed = true;
      subscription.settle();
      if (subscription.isWatched) this.#notify(undefined);
      const ping = () => void (async () => client.call("ping"))().catch(() => undefined);
      pings = setInterval(ping, this.#options.timeoutMs * TIMEOUTS_PER_PING).unref();
      await ended;
    } finally {
      clearInterval(pings);
      disconnect(client);
    }
    return true;
  }

  #reportDenial(subscription: Subscription, error: unknown): void {
    const problem = this.#options.describeDenial(error);
    if (problem === undefined || subscription.problem === problem) return;
    subscription.problem = problem;
    subscription.settle();
    this.#options.logger.warn(`${this.#target.name} could not subscribe to changes. ${problem}`);
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
  #receive(message: string): void {
    const end = message.indexOf(" ");
    const key = message.slice(end + 1);
    const isOwn = message.slice(0, end) === this.#writerId;
    if (end !== -1 && !isOwn && isStoreKey(key)) this.#notify(key);
  }
}

/** Uses sharded pub/sub in a cluster, which stays within one shard, if the server has it (Redis 7). */
async function withShardedPubSub(
  { isCluster }: RedisTarget,
  sharded: () => Promise<unknown>,
  unsharded: () => Promise<unknown>,
): Promise<void> {
  try {
    if (isCluster) return void (await sharded());
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith("ERR unknown command")) throw error;
  }
  await unsharded();
}
