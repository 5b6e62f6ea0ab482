import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { redisStore } from "../../src/stores/index.js";
import { eventually, rejection, times } from "../fixtures/clients.js";
import { readPemFile } from "../fixtures/read-pem-file.js";
import { RecordingLogger } from "../fixtures/recording-logger.js";
import { certificatePath, RedisCluster } from "../fixtures/redis-cluster.js";
import { REDIS_COMMANDS } from "../fixtures/redis-server.js";
import { StoreProcess } from "../fixtures/store-process.js";
import { describeStore } from "./store-contract.js";

const PASSWORD = "canary-cluster-password";
const NAMESPACE = "langchain-mcp-runtime";
const CHANNEL = `${NAMESPACE}:changes`;
const TRAITS = { isShared: true, hasNamespaces: true, hasFeed: true, hasLeases: true };
/** Generous, because the machine may be busy. */
const LONG_TIMEOUT = { timeoutMs: 15_000 };
const KEYS = times(30, (n) => `key/${String(n).padStart(2, "0")}`);

describe.each(REDIS_COMMANDS)("on a cluster of %s", (command) => {
  let cluster: RedisCluster;
  let client: Cluster;
  let tlsClient: Cluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start({ command, password: PASSWORD });
    const [server] = cluster.servers;
    client = new Cluster([{ host: "127.0.0.1", port: server?.port }], {
      redisOptions: { password: PASSWORD },
    });
    const tls = { ca: readPemFile("authority") };
    tlsClient = new Cluster([{ host: "127.0.0.1", port: cluster.tlsPorts[0] }], {
      redisOptions: { password: PASSWORD, tls },
    });
  });
  afterAll(async () => {
    client.disconnect();
    tlsClient.disconnect();
    await cluster[Symbol.asyncDispose]();
  });

  const openSubject = (getTarget: () => string | Cluster) => async () => {
    await cluster.callMasters("flushall");
    return {
      open: (options: object = {}) => redisStore(getTarget(), { ...LONG_TIMEOUT, ...options }),
      writeRaw: async (key: string, text: string) => void (await client.set(`${NAMESPACE}:${key}`, text)),
      async [Symbol.asyncDispose]() {},
    };
  };

  describeStore(
    `${command} in cluster mode`,
    TRAITS,
    openSubject(() => cluster.url),
  );
  describeStore(
    `${command} in cluster mode with the user's client over TLS`,
    TRAITS,
    openSubject(() => tlsClient),
  );

  it("keys are on all masters, and list asks every master", async () => {
    await cluster.callMasters("flushall");
    await using store = redisStore(cluster.url, LONG_TIMEOUT);
    await Promise.all(KEYS.map((key) => store.set(key, key)));
    const sizes = (await cluster.callMasters("dbsize")) as number[];
    expect(sizes.filter((size) => size > 0)).toHaveLength(3);
    expect(await store.list("key/")).toEqual(KEYS);
  });

  it("changes are published on a sharded channel", async () => {
    await using store = redisStore(cluster.url, LONG_TIMEOUT);
    await store.watch?.(() => undefined);
    const channels = await cluster.callMasters("pubsub", "shardchannels");
    expect(channels.flat()).toEqual([CHANNEL]);
  });

  it("the key prefix of the user's client is part of the keys and of the channel", async () => {
    await cluster.callMasters("flushall");
    const [server] = cluster.servers;
    const prefixed = new Cluster([{ host: "127.0.0.1", port: server?.port }], {
      keyPrefix: "app[1]:",
      lazyConnect: true,
      redisOptions: { password: PASSWORD },
    });
    await using store = redisStore(prefixed, LONG_TIMEOUT);
    await using other = redisStore(prefixed, LONG_TIMEOUT);
    const changes: unknown[] = [];
    expect(await store.list("")).toEqual([]);
    await store.watch?.((key) => changes.push(key));
    await other.set("k", 1);
    expect(await store.list("")).toEqual(["k"]);
    expect(await client.exists(`app[1]:${NAMESPACE}:k`)).toBe(1);
    await eventually(() => changes.length === 1);
    prefixed.disconnect();
  });

  it("an address with TLS works in a process that trusts the authority, and is explained in others", async () => {
    const trust = { NODE_EXTRA_CA_CERTS: certificatePath("authority.pem") };
    await using trusting = new StoreProcess("redis", cluster.tlsUrl, trust);
    await using store = redisStore(client, LONG_TIMEOUT);
    await trusting.watch();
    await store.set("k", 1);
    await eventually(() => trusting.changes.includes("k"));
    expect([await trusting.get("k"), (await trusting.list("")).includes("k")]).toEqual([1, true]);

    await using untrusted = redisStore(cluster.tlsUrl, LONG_TIMEOUT);
    for (const error of await Promise.all([untrusted.get("k"), untrusted.list("")].map(rejection)))
      expect(error).toMatchObject({
        kind: "unavailable",
        message: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
      });
    await using refused = redisStore("redis-cluster://127.0.0.1:1", LONG_TIMEOUT);
    expect(await rejection(refused.get("k"))).toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  it("a node of the cluster as a single Redis is rejected with the address to use", async () => {
    const urls = cluster.servers.map(({ url }) => url);
    for (const url of urls) {
      await using store = redisStore(url, LONG_TIMEOUT);
      for (const operation of [store.get("k"), store.set("k", 1), store.list("")])
        expect(await rejection(operation)).toMatchObject({
          kind: "invalid-config",
          message: expect.stringContaining("redis-cluster://"),
        });
    }
  });

  it("a wrong password and missing rights have their own kind and message", async () => {
    const { url } = cluster;
    await using wrong = redisStore(url.replace(PASSWORD, "canary-wrong"), LONG_TIMEOUT);
    const denied = await rejection(wrong.get("k"));
    expect(denied).toMatchObject({ kind: "unauthorized", message: expect.stringContaining("password") });
    expect(denied.message).not.toContain("canary");

    await cluster.callEveryNode(
      "acl",
      "setuser",
      "app",
      "reset",
      "on",
      ">pw",
      "~*",
      "+@all",
      "-cluster|slots",
    );
    const logger = new RecordingLogger();
    await using store = redisStore(url.replace(`:${PASSWORD}`, "app:pw"), { ...LONG_TIMEOUT, logger });
    const first = await rejection(store.set("k", 1));
    expect(first).toMatchObject({
      kind: "unauthorized",
      message: expect.stringContaining("+cluster|slots. "),
    });
    // The rules of the message are all that a store needs.
    const [, rules = ""] = /Grant the user: (.*)$/.exec(first.message) ?? [];
    await cluster.callEveryNode("acl", "setuser", "app", "reset", "on", ">pw", ...rules.split(" "));
    await using other = redisStore(url.replace(`:${PASSWORD}`, "app:pw"), { ...LONG_TIMEOUT, logger });
    const changes: unknown[] = [];
    await store.watch?.((key) => changes.push(key));
    await other.set("k", 1);
    await other.delete("k");
    await eventually(() => changes.length === 2);
    expect(await store.get("k")).toBeUndefined();
    expect(await store.list("k")).toEqual([]);
    expect(await (await store.lease?.("lease", { ttlMs: 60_000 }))?.renew()).toBe(true);
    expect(logger.warnings).toEqual([]);
  });

  it("no key and no change is lost while the slot of the keys and of the feed is moved", async () => {
    await cluster.callMasters("flushall");
    await using store = redisStore(cluster.url, LONG_TIMEOUT);
    await using other = redisStore(client, LONG_TIMEOUT);
    // The hash tag puts them into the slot of the channel.
    const keys = times(10, (n) => `{${CHANNEL}}/${n}`);
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    await Promise.all(keys.map((key) => other.set(key, "before")));
    await eventually(() => changes.length === keys.length);
    let steps = 0;
    await cluster.moveSlotOf(CHANNEL, "next", async () => {
      steps += 1;
      const values = await Promise.all(keys.map((key) => store.get(key)));
      expect(values).toEqual(keys.map((_, n) => (n < steps - 1 ? "during" : "before")));
      await store.set(keys[steps - 1] ?? "{other}", "during");
      await store.set(`{${CHANNEL}}/new`, steps);
      expect(await other.get(`{${CHANNEL}}/new`)).toBe(steps);
      expect(await other.list(`{${CHANNEL}}`)).toEqual([...keys, `{${CHANNEL}}/new`]);
    });
    expect(steps).toBe(keys.length + 2);
    // The feed has followed its channel to the other master.
    await eventually(() => changes.includes(undefined));
    await other.set("late", 1);
    await eventually(() => changes.includes("late"));
  });

  it("a list is complete while keys are moved to a new master", async () => {
    await cluster.callMasters("flushall");
    await using store = redisStore(cluster.url, LONG_TIMEOUT);
    await using other = redisStore(client, LONG_TIMEOUT);
    const keys = times(50, (n) => `{moved}/${String(n).padStart(2, "0")}`);
    // So many that a node is scanned in several steps.
    await Promise.all(times(4_000, (n) => client.set(`filler/${n}`, "")));
    await Promise.all(keys.map((key) => store.set(key, 1)));
    expect(await other.list("{moved}")).toEqual(keys);
    // A master without slots is not known to clients.
    await cluster.moveSlotOf("any other slot", "fourth");
    const progress = { isMoving: true };
    const moved = cluster.moveSlotOf(`${NAMESPACE}:{moved}`, "fourth").finally(() => {
      progress.isMoving = false;
    });
    while (progress.isMoving) expect(await store.list("{moved}")).toEqual(keys);
    await moved;
    // This client was not redirected to the new master.
    expect(await other.list("{moved}")).toEqual(keys);
  });

  it("operations and the change feed resume after a master was killed", async () => {
    await cluster.callMasters("flushall");
    await using store = redisStore(cluster.url, { timeoutMs: 1_000 });
    await using other = redisStore(client, LONG_TIMEOUT);
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    await Promise.all(KEYS.map((key) => other.set(key, "before")));
    await client.call("wait", 1, 5_000);
    const killed = cluster.killMasterOf(CHANNEL);
    const isSettled = (operation: Promise<unknown>) => operation.then(...ALWAYS_TRUE);
    // During the failover, operations end within their time limit, and a list is complete or rejected.
    const progress = { isFailingOver: true };
    const finished = killed.finally(() => {
      progress.isFailingOver = false;
    });
    while (progress.isFailingOver) {
      await Promise.all(KEYS.slice(0, 6).map((key) => isSettled(store.get(key))));
      const listed = await store.list("key/").catch(() => KEYS);
      expect(listed).toEqual(KEYS);
    }
    await finished;
    await eventually(async () => {
      const results = await Promise.allSettled(KEYS.map((key) => store.set(key, "after")));
      return results.every(({ status }) => status === "fulfilled");
    });
    expect(await Promise.all(KEYS.map((key) => store.get(key)))).toEqual(KEYS.map(() => "after"));
    await eventually(async () => (await store.list("key/").catch(() => [])).length === KEYS.length);
    // Changes may have been missed while the feed was down.
    await eventually(() => changes.includes(undefined));
    await other.set("key/late", 1);
    await eventually(() => changes.includes("key/late"));
  });
});

const ALWAYS_TRUE = [() => true, () => true] as const;

describe.skipIf(REDIS_COMMANDS.length === 0)("a cluster without sharded pub/sub", () => {
  it("has a change feed, too", async () => {
    const settings = ["SSUBSCRIBE", "SPUBLISH"].flatMap((name) => ["--rename-command", name, ""]);
    await using cluster = await RedisCluster.start({ command: REDIS_COMMANDS[0] ?? "", settings });
    await using store = redisStore(cluster.url, LONG_TIMEOUT);
    await using other = redisStore(cluster.url, LONG_TIMEOUT);
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    await Promise.all(KEYS.map((key) => other.set(key, 1)));
    await eventually(() => changes.length === KEYS.length);
    expect(new Set(changes)).toEqual(new Set(KEYS));
  });
});
