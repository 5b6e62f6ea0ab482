import { printValue } from "../../errors/sanitize-text.js";
import { settleWithin, systemClock } from "../../async/clock.js";
import type { KeyValueStore } from "../key-value-store.js";
import {
  type RedisClient,
  type RedisClusterClient,
  type RedisTarget,
  RedisChangeFeed,
} from "./redis-client.js";
import { CLUSTER_NODE, resolveRedisTarget } from "./redis-target.js";
import {
  DriverStore,
  type DriverEntry,
  type DriverLease,
  type FailureExplanation,
  type StoreDriver,
} from "../driver-store.js";
import { InvalidEntryError } from "../entry-codec.js";
import { ListingLimit } from "../listing-limit.js";
import {
  type NamespacedStoreOptions,
  resolveStoreOptions,
  type ResolvedStoreOptions,
} from "../store-options.js";
import type { CancelScope } from "../../async/cancel-scope.js";

/** Options of `redisStore`. */
export type RedisStoreOptions = NamespacedStoreOptions;

/**
 * Creates a store in Redis or Valkey, shared by many processes, with a change feed. Requires the package `ioredis`,
 * which is loaded on first use.
 *
 * @param urlOrClient `redis://` or, with TLS, `rediss://`; for a cluster `redis-cluster://host:port,host:port` or
 * `rediss-cluster://`; or an ioredis client (`Redis`, also with Sentinel, or `Cluster`), which is not closed with the
 * store
 * @throws McpRuntimeError `invalid-config` for invalid options
 * @example
 * ```ts
 * await using store = redisStore("redis://localhost:6379");
 * const toolset = await createMcpTools(servers, { cache: { store } });
 * ```
 */
export function redisStore(
  urlOrClient: string | RedisClient | RedisClusterClient,
  options: RedisStoreOptions = {},
): KeyValueStore {
  const config = resolveStoreOptions("The Redis store", options);
  return new DriverStore(new RedisDriver(resolveRedisTarget(urlOrClient, config.timeoutMs), config), config);
}

const SCAN_STEP = 1_000;
/** Only the holder of a lease changes it. Scripts use no other commands than the store, so that ACL rules stay short. */
const IF_HELD = "if redis.call('getrange', KEYS[1], 0, -1) == ARGV[1] then";
const RENEW_LEASE = `${IF_HELD} redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return 1 end return 0`;
const REMOVE_LEASE = `${IF_HELD} redis.call('del', KEYS[1]) end return 0`;

/** What the user of the store is allowed to do with ACL rules that contain only these commands. */
const COMMANDS = "+getrange +set +del +eval +scan +publish +subscribe +ping";
const CLUSTER_COMMANDS = "+spublish +ssubscribe +cluster|slots +cluster|keyslot";

/** Stores one Redis string per entry, with its expiry, and publishes every change. */
class RedisDriver implements StoreDriver {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly #target: RedisTarget;
  readonly #options: ResolvedStoreOptions;
  readonly #prefix: string;
  readonly #feed: RedisChangeFeed;
  readonly #publishing = new Set<Promise<void>>();

  constructor(target: RedisTarget, config: ResolvedStoreOptions) {
    this.name = target.name;
    this.secrets = target.secrets;
    this.#target = target;
    this.#options = config;
    this.#prefix = `${config.namespace}:`;
    const describeDenial = (error: unknown) => {
      const explanation = error instanceof Error ? this.explainFailure(error) : undefined;
      return explanation === undefined || explanation.kind === "unavailable" ? undefined : explanation.text;
    };
    this.#feed = new RedisChangeFeed(target, { ...config, describeDenial });
  }

  async read(key: string): Promise<string | undefined> {
    const { maxBytes } = this.#options;
    try {
      // One byte more than allowed is enough to detect an oversized entry.
      const text = await this.#target.call("getrange", this.#prefix + key, 0, maxBytes);
      return typeof text === "string" && text !== "" ? text : undefined;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("WRONGTYPE"))
        throw new InvalidEntryError("is not a string");
      throw error;
    }
  }

  async write({ key, text, ttlMs }: DriverEntry): Promise<void> {
    const expiry = ttlMs === undefined ? [] : ["px", Math.ceil(ttlMs)];
    await this.#target.call("set", this.#prefix + key, text, ...expiry);
    this.#publish(key);
  }

  async remove(key: string): Promise<void> {
    await this.#target.call("del", this.#prefix + key);
    this.#publish(key);
  }

  /** The value of a lease is its token. It is not an entry: `get` ignores it. */
  readonly leases = {
    create: async ({ key, token, ttlMs }: DriverLease): Promise<boolean> => {
      const expiry = ["px", Math.ceil(ttlMs)];
      return (await this.#target.call("set", this.#prefix + key, token, ...expiry, "nx")) === "OK";
    },
    renew: async (lease: DriverLease): Promise<boolean> => (await this.#runScript(RENEW_LEASE, lease)) === 1,
    remove: async (lease: DriverLease): Promise<void> => void (await this.#runScript(REMOVE_LEASE, lease)),
  };

  /** Scans the whole database: Redis has no index by prefix. */
  async list(prefix: string, cancellation: CancelScope): Promise<string[]> {
    const fullPrefix = this.#target.clientPrefix + this.#prefix;
    const pattern = `${escapePattern(fullPrefix + prefix)}*`;
    const matches = new Set<string>();
    const scan = async (node: Pick<RedisClient, "call">) => {
      const limit = new ListingLimit(cancellation);
      let cursor = "0";
      do {
        const page = await node.call("scan", cursor, "match", pattern, "count", SCAN_STEP);
        const [next, keys] = page as [string, string[]];
        await limit.addPage(keys.length);
        for (const key of keys) matches.add(key.slice(fullPrefix.length));
        cursor = next;
      } while (cursor !== "0");
    };
    // In a cluster, a key can move to a master that has been scanned already. The second pass finds it there.
    for (let passes = this.#target.isCluster ? 2 : 1; passes > 0; passes -= 1)
      await Promise.all((await this.#target.findMasters()).map(scan));
    return [...matches];
  }

  watch(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    return this.#feed.watch(listener);
  }

  async close(): Promise<void> {
    await settleWithin(this.#options.timeoutMs, systemClock, () => Promise.all(this.#publishing));
    await Promise.all([this.#feed.close(), this.#target.close()]);
  }

  explainFailure(error: Error): FailureExplanation | undefined {
    const { message } = error;
    const code = printValue(Reflect.get(error, "code") ?? /^[A-Z]+/.exec(message)?.[0]);
    if (code === "NOPERM") return { kind: "unauthorized", text: this.#describeMissingRight(message) };
    if (message.startsWith("ERR This instance has cluster support disabled"))
      return EXPLANATIONS.get("NOCLUSTER");
    return EXPLANATIONS.get(code) ?? (TLS_ERROR.test(code) ? TLS_EXPLANATION : undefined);
  }

  /** Not awaited by the caller: in a cluster, another master than that of the key may be down. */
  #publish(key: string): void {
    const publishing = this.#feed.publish(key).finally(() => this.#publishing.delete(publishing));
    this.#publishing.add(publishing);
  }

  #runScript(script: string, { key, token, ttlMs }: DriverLease): Promise<unknown> {
    return this.#target.call("eval", script, 1, this.#prefix + key, token, Math.ceil(ttlMs));
  }

  #describeMissingRight(message: string): string {
    const { clientPrefix, isCluster } = this.#target;
    const keys = `~${clientPrefix}${this.#prefix}*`;
    const channel = `&${this.#feed.channel}`;
    const command = /'(.+?)' command/.exec(message)?.[1];
    const missing = command === undefined ? (message.includes("channel") ? channel : keys) : `+${command}`;
    const commands = isCluster ? `${COMMANDS} ${CLUSTER_COMMANDS}` : COMMANDS;
    return `Its user lacks the ACL rule ${missing}. Grant the user: ${keys} ${channel} ${commands}`;
  }
}

const EXPLANATIONS: ReadonlyMap<string, FailureExplanation> = new Map([
  [
    "NOAUTH",
    {
      kind: "unauthorized",
      text: "It requires a password: add it to the address (redis://user:password@host) or to the client, or check it.",
    },
  ],
  ["WRONGPASS", { kind: "unauthorized", text: "Check the user name and the password." }],
  ["MOVED", { kind: "invalid-config", text: `It ${CLUSTER_NODE}` }],
  ["NOCLUSTER", { kind: "invalid-config", text: "It is not a Redis Cluster: use redis:// or rediss://." }],
  [
    "READONLY",
    { kind: "unavailable", text: "It is a replica: use the master, or an ioredis client for Sentinel." },
  ],
]);

const TLS_ERROR = /CERT|SIGNATURE|^ERR_(?:SSL|TLS)|^EPROTO$/;
const TLS_EXPLANATION: FailureExplanation = {
  kind: "unavailable",
  text: "TLS failed. Check that the port uses TLS, that the certificate is for this host, and that its authority is trusted: set NODE_EXTRA_CA_CERTS, or pass an ioredis client with `tls.ca`.",
};

function escapePattern(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, String.raw`\$&`);
}
