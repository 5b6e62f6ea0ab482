import { inspect } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeyValueStore, redisStore } from "../../../src/stores/index.js";
import { eventually, failureOf, times } from "../../fixtures/clients.js";
import { FaultProxy } from "../../fixtures/fault-proxy.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";

const PASSWORD = "canary p@55word";
const VALUE = "canary-value-3c55";
/** Where nothing is about time, and the machine may be busy. */
const PATIENT = { timeoutMs: 15_000 };
/** Short enough for a test. */
const SOON = { timeoutMs: 700 };

/** All that could ever be printed of an error. */
function shown(error: unknown): string {
  return inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error);
}

async function connections(admin: Redis): Promise<number> {
  const list = String(await admin.call("client", "list"));
  return list.trim().split("\n").length;
}

/** On a busy machine even the first connection may take too long. */
function isWell(store: KeyValueStore): Promise<boolean> {
  return store.set("well", true).then(
    () => true,
    () => false,
  );
}

function warningsInto(warnings: string[]) {
  return { ...console, warn: (message: string) => void warnings.push(message) };
}

describe("the address of a Redis store", () => {
  it.each([["localhost:6379"], ["http://:canary@localhost"], [""], [7], [undefined], [{}]])(
    "is not %j, and is not repeated",
    (address) => {
      expect(() => redisStore(address as string)).toThrow(
        /^The Redis store is not valid:\n {2}expected redis:\/\/…, rediss:\/\/… or an ioredis client, found (?!.*canary)/,
      );
    },
  );

  it("is not that of a cluster, whose keys cannot be listed in one place", () => {
    const cluster = { isCluster: true, call: async () => undefined, duplicate: () => ({}), options: {} };
    expect(() => redisStore(cluster)).toThrow("found one of a cluster");
  });

  it("has options that are checked", () => {
    expect(() => redisStore("redis://localhost", { timeoutMs: 0, maxBytes: 1.5 })).toThrow(
      "timeoutMs: expected a whole number above 0, found a number\n  maxBytes: expected",
    );
    expect(() => redisStore("redis://localhost", { namespace: "a*" })).toThrow("namespace: expected letters");
  });
});

describe.skipIf(!HAS_REDIS)("a Redis store", () => {
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
    await admin.ping();
  });
  afterAll(async () => {
    await admin.quit();
    await server[Symbol.asyncDispose]();
  });

  it("opens nothing before it is used, one connection then, and leaves none", async () => {
    const before = await connections(admin);
    const store = redisStore(server.url, PATIENT);
    expect(await connections(admin)).toBe(before);
    await Promise.all(times(20, (n) => store.set(`k${n}`, n)));
    expect(await connections(admin)).toBe(before + 1);
    const stop = await store.watch?.(() => undefined);
    const stopOther = await store.watch?.(() => undefined);
    expect(await connections(admin)).toBe(before + 2);
    await stop?.();
    expect(await connections(admin)).toBe(before + 2);
    await stopOther?.();
    await eventually(async () => (await connections(admin)) === before + 1);
    await store.watch?.(() => undefined);
    await store.close();
    await eventually(async () => (await connections(admin)) === before);
  });

  it("lets Redis itself remove what has expired", async () => {
    await using store = redisStore(server.url, PATIENT);
    await store.set("k", 1, { ttlMs: 60_000.4 });
    expect(await admin.pttl("langchain-mcp-runtime:k")).toBeGreaterThan(1_000);
    await store.set("k", 1);
    expect(await admin.pttl("langchain-mcp-runtime:k")).toBe(-1);
  });

  it("takes what is no text for nothing, and writes over it", async () => {
    const warnings: string[] = [];
    await using store = redisStore(server.url, { ...PATIENT, logger: warningsInto(warnings) });
    await admin.del("langchain-mcp-runtime:list");
    await admin.rpush("langchain-mcp-runtime:list", VALUE);
    expect(await store.get("list")).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('has under "list" is not a text; it is ignored.')]);
    await store.set("list", 1);
    expect(await store.get("list")).toBe(1);
  });

  it("leaves a client of the user's own as it was, with its prefix", async () => {
    const client = new Redis(server.url, { keyPrefix: "app[1]:" });
    const store = redisStore(client, { ...PATIENT, namespace: "mine" });
    const told: unknown[] = [];
    await store.watch?.((key) => told.push(key));
    await using other = redisStore(server.url, { ...PATIENT, namespace: "mine" });
    await store.set("k", 1);
    await other.set("far", 1);
    expect(await admin.exists("app[1]:mine:k")).toBe(1);
    expect(await store.list("")).toEqual(["k"]);
    await eventually(() => told.length === 1);
    await store.close();
    expect(await client.ping()).toBe("PONG");
    await client.quit();
  });

  it("works for a user who may not publish", async () => {
    await admin.call("acl", "setuser", "quiet", "on", ">pw", "~*", "+@all", "-publish");
    await using store = redisStore(server.url.replace("//", "//quiet:pw@"));
    await store.set("k", "kept");
    expect(await store.get("k")).toBe("kept");
  });

  it("takes no message for a change that cannot be one", async () => {
    await using store = redisStore(server.url, { ...PATIENT, namespace: "feed" });
    const told: unknown[] = [];
    await store.watch?.(() => {
      throw new Error("of a listener");
    });
    await store.watch?.((key) => told.push(key));
    for (const message of ["", "x", "x ", `x ${"k".repeat(513)}`, "x sound"])
      await admin.publish("feed:changes", message);
    await eventually(() => told.length > 0);
    expect(told).toEqual(["sound"]);
  });
});

describe.skipIf(!HAS_REDIS)("when Redis fails, a Redis store", () => {
  it("says at once that there is none, and works when there is", async () => {
    await using server = await RedisServer.start({ password: PASSWORD });
    await server.kill();
    await using store = redisStore(server.url, PATIENT);
    const errors = await Promise.all([store.get("k"), store.set("k", VALUE), store.list("")].map(failureOf));
    for (const error of errors) {
      expect(error).toMatchObject({ kind: "unavailable", cause: { code: "ECONNREFUSED" } });
      expect(error.message).toMatch(
        /^The Redis store at 127\.0\.0\.1:\d+ could not (read|write|list) .*ECONNREFUSED/,
      );
      expect(shown(error)).not.toMatch(/canary/);
    }
    await server.start();
    await store.set("k", 1);
    expect(await store.get("k")).toBe(1);
  });

  it("fails what was under way, and works after a restart", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, PATIENT);
    await store.set("k", "before");
    server.freeze();
    const underWay = [store.get("k"), store.set("k", VALUE), store.list("")].map(failureOf);
    await server.kill();
    for (const error of await Promise.all(underWay)) {
      expect(error).toMatchObject({ kind: "unavailable" });
      expect(shown(error)).not.toContain(VALUE);
    }
    expect(await failureOf(store.get("k"))).toMatchObject({ kind: "unavailable" });
    await server.start();
    expect(await store.get("k")).toBeUndefined();
    await store.set("k", "after");
    expect(await store.get("k")).toBe("after");
  });

  it("waits no longer than it may for one that does not answer, and works when it does again", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, SOON);
    await eventually(() => isWell(store));
    server.freeze();
    const errors = await Promise.all([store.get("k"), store.set("other", VALUE)].map(failureOf));
    for (const error of errors) {
      expect(error).toMatchObject({ kind: "timeout" });
      expect(error.message).toMatch(/did not (read|write) .* within 700 ms\.$/);
      expect(shown(error)).not.toContain(VALUE);
    }
    server.wake();
    await eventually(() => isWell(store));
  });

  it("gives up a connection that has become a black hole", async () => {
    await using server = await RedisServer.start();
    const rates = { resetOnConnect: 0, reset: 0, truncate: 0, blackhole: 1, delay: 0 };
    await using proxy = await FaultProxy.start({ target: `http://127.0.0.1:${server.port}`, seed: 1, rates });
    await using store = redisStore(proxy.url.replace("http:", "redis:"), SOON);
    expect(await failureOf(store.get("k"))).toMatchObject({ kind: "timeout" });
    proxy.calm();
    await eventually(() => isWell(store));
    await store.close();
    await eventually(() => proxy.openConnections === 0);
  });

  it("ends a wait when its caller does", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, PATIENT);
    await store.set("k", 1);
    server.freeze();
    const controller = new AbortController();
    const read = failureOf(store.get("k", { signal: controller.signal }));
    controller.abort("enough");
    expect(await read).toBe("enough");
    const closed = failureOf(store.get("k"));
    server.wake();
    await store.close();
    expect(await closed).toMatchObject({ kind: "closed" });
  });

  it("bounds the wait of a client of the user's own, which queues for ever", async () => {
    await using server = await RedisServer.start();
    await server.kill();
    const client = new Redis(server.url, { maxRetriesPerRequest: null });
    client.on("error", () => undefined);
    await using store = redisStore(client, SOON);
    expect(await failureOf(store.get("k"))).toMatchObject({ kind: "timeout" });
    client.disconnect();
  });

  it("never tells a password, nor a value that Redis repeats", async () => {
    const settings = ["--rename-command", "SET", ""];
    await using server = await RedisServer.start({ password: "right", settings });
    await using wrong = redisStore(server.url.replace("right", encodeURIComponent(PASSWORD)));
    const refused = await failureOf(wrong.get("k"));
    expect(refused).toMatchObject({ kind: "unavailable", cause: { code: "WRONGPASS" } });
    expect(refused.message).toContain("(WRONGPASS)");
    expect(shown(refused)).not.toMatch(/canary/);

    await using store = redisStore(server.url, PATIENT);
    const repeated = await failureOf(store.set("k", VALUE));
    expect(repeated).toMatchObject({ kind: "unavailable", cause: { code: "ERR" } });
    expect(shown(repeated)).not.toMatch(/canary|right/);
  });
});

describe.skipIf(!HAS_REDIS)("the change feed of a Redis store", () => {
  it("comes back with Redis, and says that changes may have been missed", async () => {
    await using server = await RedisServer.start();
    await using one = redisStore(server.url, PATIENT);
    await using other = redisStore(server.url, PATIENT);
    const told: (string | undefined)[] = [];
    await one.watch?.((key) => told.push(key));
    await server.kill();
    await server.start();
    await eventually(() => told.length === 1);
    await other.set("k", 1);
    await eventually(() => told.length === 2);
    expect(told).toEqual([undefined, "k"]);
  });

  it("begins by itself when Redis is there at last", async () => {
    await using server = await RedisServer.start();
    await server.kill();
    const warnings: string[] = [];
    await using one = redisStore(server.url, { ...SOON, logger: warningsInto(warnings) });
    const told: (string | undefined)[] = [];
    await one.watch?.((key) => told.push(key));
    expect(warnings).toEqual(["A Redis store cannot hear of changes yet. It goes on trying."]);
    await server.start();
    await eventually(() => told.length === 1);
    expect(told).toEqual([undefined]);
  });

  it("ends with the store, also while Redis is gone", async () => {
    await using server = await RedisServer.start();
    const store = redisStore(server.url, SOON);
    await store.watch?.(() => undefined);
    await server.kill();
    await store.close();
    expect(await failureOf(store.watch?.(() => undefined) ?? Promise.resolve())).toMatchObject({
      kind: "closed",
    });
  });
});
