import { decoded } from "../../config/basic-credentials.js";
import { configError } from "../../errors/config-error.js";
import { describeValue } from "../../json/describe-value.js";
import { loadPeer } from "../../errors/load-optional-dependency.js";
import type { KeyValueStore } from "../key-value-store.js";
import { type OwnRedisClient, ownClientOptions, type RedisClient } from "./redis-client.js";
import { OwnRedisConnection, type RedisConnection } from "./redis-connection.js";
import { RedisShelf } from "./redis-driver.js";
import { DriverStore } from "../driver-store.js";
import { type NamespacedStoreOptions, resolveStoreOptions } from "../store-options.js";

export type RedisStoreOptions = NamespacedStoreOptions;

/** A subscriber waits longer and longer, up to this, before it tries to connect again. */
const LONGEST_WAIT_MS = 5_000;

/**
 * Entries in a Redis that many processes share, with a change feed. Takes an address
 * (`redis://` or `rediss://`), or an ioredis client of your own, which is then not closed. Needs the
 * package `ioredis`, which is loaded on first use.
 */
export function redisStore(at: string | RedisClient, options: RedisStoreOptions = {}): KeyValueStore {
  const config = resolveStoreOptions("The Redis store", options);
  const own = ownClientOptions(config.timeoutMs);
  const place = typeof at === "string" ? placeOfUrl(at, own) : placeOfClient(at, own);
  return new DriverStore(new RedisShelf(place, config), config);
}

type RedisPlace = ConstructorParameters<typeof RedisShelf>[0];

function placeOfUrl(address: string, own: object): RedisPlace {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !["redis:", "rediss:"].includes(url.protocol)) throw badAddress(address);
  const create = (options: object) => createClient(address, { ...own, ...options });
  return {
    name: `the Redis store at ${url.host}`,
    secrets: [url.password, decoded(url.password)],
    connection: new OwnRedisConnection(() => create({ retryStrategy: null })),
    clientPrefix: "",
    createSubscriber: () => create({ retryStrategy: waitBeforeRetry }),
  };
}

function placeOfClient(client: RedisClient, own: object): RedisPlace {
  if (typeof client?.call !== "function" || typeof client.duplicate !== "function") throw badAddress(client);
  if (Reflect.get(client, "isCluster") === true) {
    const message = "expected a client of one Redis, found one of a cluster";
    throw configError("The Redis store", [{ path: "", message }]);
  }
  const { keyPrefix, password } = client.options as Record<string, unknown>;
  const connection: RedisConnection = {
    call: (command, ...args) => client.call(command, ...args),
    close: async () => undefined,
  };
  return {
    name: "the Redis store",
    secrets: typeof password === "string" ? [password] : [],
    connection,
    clientPrefix: typeof keyPrefix === "string" ? keyPrefix : "",
    createSubscriber: async () =>
      client.duplicate({ ...own, retryStrategy: waitBeforeRetry }) as OwnRedisClient,
  };
}

async function createClient(address: string, options: object): Promise<OwnRedisClient> {
  const { Redis } = await loadPeer("ioredis", {
    neededBy: "A Redis store",
    load: () => import("ioredis"),
  });
  return new Redis(address, options);
}

function waitBeforeRetry(attempt: number): number {
  return Math.min(100 * 2 ** (attempt - 1), LONGEST_WAIT_MS);
}

function badAddress(found: unknown): Error {
  // The text itself may be an address with a password.
  const what = typeof found === "string" ? "another text" : describeValue(found);
  const message = `expected redis://…, rediss://… or an ioredis client, found ${what}`;
  return configError("The Redis store", [{ path: "", message }]);
}
