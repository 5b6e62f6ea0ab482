import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { configError, McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { describeValue } from "../../json/describe-value.js";
import { tryDecodeURIComponent } from "../../json/json.js";
import {
  LazyConnection,
  type ManagedRedisClient,
  type ManagedRedisCluster,
  managedClientOptions,
  type RedisClient,
  type RedisClusterClient,
  type RedisTarget,
} from "./redis-client.js";

/** Valkey is a fork of Redis with its own protocol names. */
const ADDRESS =
  /^(?:redis|valkey)(?<tls>s?)(?<cluster>-cluster)?:\/\/(?:(?<user>[^:]*?)(?::(?<password>.*))?@)?(?<hosts>[^@/?#]+)(?<rest>.*)$/s;

/** Whether a string has the protocol of an address that `redisStore` accepts. */
export function isRedisAddress(address: string): boolean {
  return /^(?:redis|valkey)s?(?:-cluster)?:/.test(address);
}

/** Throws `invalid-config` for anything that is neither an address nor a client. */
export function resolveRedisTarget(
  urlOrClient: string | RedisClient | RedisClusterClient,
  timeoutMs: number,
): RedisTarget {
  const options = managedClientOptions(timeoutMs);
  if (typeof urlOrClient === "string") return parseAddress(urlOrClient, options, timeoutMs);
  if (typeof urlOrClient?.call !== "function") throw invalidTargetError(urlOrClient);
  const source = { open: async () => urlOrClient as never, close: async () => undefined };
  if (isCluster(urlOrClient)) return createClusterTarget(describeClient(urlOrClient), source, options);
  if (typeof urlOrClient.duplicate !== "function") throw invalidTargetError(urlOrClient);
  const duplicate = async () => urlOrClient.duplicate(options) as ManagedRedisClient;
  return createSingleTarget(describeClient(urlOrClient), source, duplicate);
}

function parseAddress(address: string, options: object, timeoutMs: number): RedisTarget {
  const groups = ADDRESS.exec(address)?.groups;
  if (groups === undefined) throw invalidTargetError(address);
  const { tls = "", cluster, user = "", password = "", hosts = "", rest = "" } = groups;
  const description = {
    name: `the Redis store at ${hosts}`,
    secrets: [password, tryDecodeURIComponent(password)],
    clientPrefix: "",
  };
  if (cluster === undefined) {
    const url = address.replace(/^valkey/, "redis");
    if (!URL.canParse(url)) throw invalidTargetError(address);
    const create = async (): Promise<ManagedRedisClient> => new (await loadClients()).Redis(url, options);
    return createSingleTarget(description, new LazyConnection(create), create);
  }
  const nodes = hosts.split(",").map((host) => parseNode(host));
  if (!/^\/?0?$/.test(rest) || nodes.includes(undefined)) throw invalidTargetError(address);
  const redisOptions = {
    ...options,
    ...(user === "" ? {} : { username: tryDecodeURIComponent(user) }),
    ...(password === "" ? {} : { password: tryDecodeURIComponent(password) }),
    ...(tls === "" ? {} : { tls: {} }),
  };
  const create = async () =>
    new (await loadClients()).Cluster(nodes as { host: string; port: number }[], {
      lazyConnect: true,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: null,
      slotsRefreshTimeout: timeoutMs,
      // Certificates are for host names: do not replace them with IP addresses.
      dnsLookup: (host, callback) => callback(null, host),
      redisOptions,
    }) as RedisClusterClient as ManagedRedisCluster;
  const createProbe = async (): Promise<ManagedRedisClient> =>
    new (await loadClients()).Redis({ ...redisOptions, ...nodes[0] });
  return createClusterTarget(description, new LazyConnection(create, createProbe), options);
}

function parseNode(text: string): { readonly host: string; readonly port: number } | undefined {
  if (text === "" || !URL.canParse(`redis://${text}`)) return undefined;
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 6379 : Number(port) };
}

function loadClients() {
  return loadOptionalDependency("ioredis", {
    neededBy: "A Redis store",
    load: () => import("ioredis"),
  });
}

function isCluster(client: RedisClient | RedisClusterClient): client is RedisClusterClient {
  return "isCluster" in client && client.isCluster;
}

function describeClient(client: { readonly options: object }) {
  const { redisOptions, ...options } = client.options as Record<string, unknown>;
  const { keyPrefix, password } = { ...(redisOptions as object | undefined), ...options } as Record<
    string,
    unknown
  >;
  return {
    name: "the Redis store",
    secrets: typeof password === "string" ? [password] : [],
    clientPrefix: typeof keyPrefix === "string" ? keyPrefix : "",
  };
}

function invalidTargetError(value: unknown): Error {
  // The string may be a URL with a password: do not repeat it.
  const received = typeof value === "string" ? "a string" : describeValue(value);
  const message = `expected redis://…, rediss://…, redis-cluster://host:port,host:port, rediss-cluster://… or an ioredis client, got ${received}`;
  return configError("The Redis store", [{ path: "", message }]);
}

type TargetDescription = Pick<RedisTarget, "name" | "secrets" | "clientPrefix">;

/** How a target gets its client: one that the store creates and closes, or one of the user. */
type ClientSource<Client> = Pick<LazyConnection<ManagedRedisClient>, "close"> & {
  open(): Promise<Client>;
  readonly authError?: unknown;
};

/** One Redis, or the one that Sentinel names. */
function createSingleTarget(
  description: TargetDescription,
  source: ClientSource<RedisClient>,
  createSubscriber: () => Promise<ManagedRedisClient>,
): RedisTarget {
  let isVerified = false;
  const call: RedisTarget["call"] = async (command, ...args) => {
    const client = await source.open();
    if (!isVerified) await assertNotInCluster(client, description, source);
    isVerified = true;
    return client.call(command, ...args);
  };
  const findMasters = async () => [{ call }];
  return {
    ...description,
    isCluster: false,
    call,
    findMasters,
    createSubscriber,
    close: () => source.close(),
  };
}

/** A node of a cluster accepts some of the keys and lists only those. Every user has the permission for HELLO. */
async function assertNotInCluster(
  client: RedisClient,
  { name }: TargetDescription,
  source: ClientSource<RedisClient>,
): Promise<void> {
  const reply = await client.call("hello").catch((error: unknown) => {
    // Servers and proxies without HELLO cannot be detected as cluster nodes.
    const isAnswer = error instanceof Error && error.name === "ReplyError";
    // Before 5.9, ioredis sends commands although it could not log in.
    if (isAnswer && !/^(?:NOAUTH|WRONGPASS)/.test(error.message)) return [];
    throw source.authError ?? error;
  });
  const fields: unknown[] = Array.isArray(reply) ? reply : Object.entries(reply ?? {}).flat();
  if (fields[fields.indexOf("mode") + 1] === "cluster")
    throw new McpRuntimeError("invalid-config", `${name.replace(/^t/, "T")} ${CLUSTER_NODE}`);
}

export const CLUSTER_NODE =
  "is a node of a Redis Cluster, which has only a part of the keys. Use redis-cluster://host:port or an ioredis Cluster client.";

/** All masters of a cluster. A command goes to the one that has its key. */
function createClusterTarget(
  description: TargetDescription,
  source: ClientSource<RedisClusterClient>,
  subscriberOptions: object,
): RedisTarget {
  /** The masters when the slots were read last. */
  let lastMasters: string | undefined;
  return {
    ...description,
    isCluster: true,
    call: async (command, ...args) => (await source.open()).call(command, ...args),
    close: () => source.close(),
    /**
     * ioredis drops the nodes that it cannot reach, and adds a new master only when it is redirected there. So its nodes
     * are compared with the current slots; otherwise keys would be missing from a list.
     */
    async findMasters() {
      const cluster = await source.open();
      // Also connects a client of the user that is not connected yet.
      const ranges = (await cluster.call("cluster", "slots")) as SlotRange[];
      const known = new Set(ranges.map(([, , [host, port]]) => `${host}:${port}`));
      const masters = [...known].toSorted().join();
      const findAll = () => {
        const addresses = new Set(cluster.slots.flatMap(([master]) => master ?? []));
        return [...addresses].map((address) => findNode(cluster, address));
      };
      if (masters !== lastMasters || findAll().includes(undefined)) await refreshSlots(cluster);
      lastMasters = masters;
      const nodes = findAll();
      const found = nodes.filter((node) => node !== undefined);
      if (found.length === 0 || found.length < nodes.length)
        throw new Error("A master of the cluster is not available.");
      return found;
    },
    async createSubscriber(channel) {
      const cluster = await source.open();
      const slot = Number(await cluster.call("cluster", "keyslot", channel));
      await refreshSlots(cluster);
      const master = findNode(cluster, cluster.slots[slot]?.[0]);
      if (master === undefined) throw new Error("The master of the change feed is not available.");
      return master.duplicate(subscriberOptions) as ManagedRedisClient;
    },
  };
}

type SlotRange = [first: number, last: number, master: [host: string, port: number]];

function findNode(cluster: RedisClusterClient, address: string | undefined): RedisClient | undefined {
  return cluster.nodes("all").find(({ options }) => {
    const { host, port } = options as { readonly host?: string; readonly port?: number };
    return `${host}:${port}` === address;
  });
}

function refreshSlots(cluster: RedisClusterClient): Promise<void> {
  return new Promise((resolve, reject) => {
    cluster.refreshSlotsCache((error?: (Error & { lastNodeError?: unknown }) | null) =>
      error ? reject(error.lastNodeError ?? error) : resolve(),
    );
  });
}
