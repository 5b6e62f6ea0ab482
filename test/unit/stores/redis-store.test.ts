import { execFile } from "node:child_process";
import { inspect, promisify } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { publishServer } from "../../../src/manager/index.js";
import { type KeyValueStore, redisStore } from "../../../src/stores/index.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, rejection, times } from "../../fixtures/clients.js";
import { FaultProxy } from "../../fixtures/fault-proxy.js";
import { findFreePort } from "../../fixtures/listener.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { tlsSettings } from "../../fixtures/redis-cluster.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const PASSWORD = "canary p@55word";
const VALUE = "canary-value-3c55";
/** Generous, for tests that are not about timeouts. */
const LONG_TIMEOUT = { timeoutMs: 15_000 };
const SHORT_TIMEOUT = { timeoutMs: 700 };

/** Everything that could be printed of an error. */
function printError(error: unknown): string {
  return inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error);
}

async function countConnections(admin: Redis): Promise<number> {
  const list = String(await admin.call("client", "list"));
  return list.trim().split("\n").length;
}

/** On a busy machine even the first connection may exceed the timeout. */
function isWritable(store: KeyValueStore): Promise<boolean> {
  return store.set("check", true).then(
    () => true,
    () => false,
  );
}

describe("the target of a Redis store", () => {
  it.each([["localhost:6379"], ["http://:canary@localhost"], [""], [7], [undefined], [{}]])(
    "cannot be %j, and is not repeated in the error",
    (target) => {
      const error = catchConfigError(() => redisStore(target as string));
      expect(error.issues).toEqual([{ path: "", message: expect.stringContaining("redis://") }]);
      expect(printError(error)).not.toContain("canary");
    },
  );

  it.each([
    ["redis-cluster://"],
    ["redis-cluster://:canary@localhost:x"],
    ["redis-cluster://localhost:7000,"],
    ["redis-cluster://localhost:7000/1"],
    ["redis-cluster://localhost?canary=1"],
  ])("cannot be the cluster address %j", (address) => {
    const error = catchConfigError(() => redisStore(address));
    expect(error.issues).toEqual([{ path: "", message: expect.stringContaining("redis-cluster://") }]);
    expect(printError(error)).not.toContain("canary");
  });

  it("has validated options", () => {
    const findIssues = (options: object) =>
      catchConfigError(() => redisStore("redis://localhost", options)).issues;
    expect(findIssues({ timeoutMs: 0, maxBytes: 1.5 })).toMatchObject([
      { path: "timeoutMs" },
      { path: "maxBytes" },
    ]);
    expect(findIssues({ namespace: "a*" })).toMatchObject([{ path: "namespace" }]);
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

  it("opens one connection on first use, one for watching, and closes both", async () => {
    const before = await countConnections(admin);
    const store = redisStore(server.url, LONG_TIMEOUT);
    expect(await countConnections(admin)).toBe(before);
    await Promise.all(times(20, (n) => store.set(`k${n}`, n)));
    expect(await countConnections(admin)).toBe(before + 1);
    const unwatch = await store.watch?.(() => undefined);
    const unwatchSecond = await store.watch?.(() => undefined);
    expect(await countConnections(admin)).toBe(before + 2);
    await unwatch?.();
    expect(await countConnections(admin)).toBe(before + 2);
    await unwatchSecond?.();
    await eventually(async () => (await countConnections(admin)) === before + 1);
    await store.watch?.(() => undefined);
    await store.close();
    await eventually(async () => (await countConnections(admin)) === before);
  });

  it("sets the expiry in Redis", async () => {
    await using store = redisStore(server.url, LONG_TIMEOUT);
    await store.set("k", 1, { ttlMs: 60_000.4 });
    expect(await admin.pttl("langchain-mcp-runtime:k")).toBeGreaterThan(1_000);
    await store.set("k", 1);
    expect(await admin.pttl("langchain-mcp-runtime:k")).toBe(-1);
  });

  it("ignores a value that is not a string, and overwrites it", async () => {
    const logger = new RecordingLogger();
    await using store = redisStore(server.url, { ...LONG_TIMEOUT, logger });
    await admin.del("langchain-mcp-runtime:list");
    await admin.rpush("langchain-mcp-runtime:list", VALUE);
    expect(await store.get("list")).toBeUndefined();
    expect(logger.warnings).toEqual([expect.stringMatching(/"list".*not a string/)]);
    await store.set("list", 1);
    expect(await store.get("list")).toBe(1);
  });

  it("uses the key prefix of the user's client and does not close it", async () => {
    const client = new Redis(server.url, { keyPrefix: "app[1]:" });
    const store = redisStore(client, { ...LONG_TIMEOUT, namespace: "mine" });
    const changes: unknown[] = [];
    await store.watch?.((key) => changes.push(key));
    await using other = redisStore(server.url, { ...LONG_TIMEOUT, namespace: "mine" });
    await store.set("k", 1);
    await other.set("remote", 1);
    expect(await admin.exists("app[1]:mine:k")).toBe(1);
    expect(await store.list("")).toEqual(["k"]);
    await eventually(() => changes.length === 1);
    await store.close();
    expect(await client.ping()).toBe("PONG");
    await client.quit();
  });

  it("works for a user without the publish permission, with one warning", async () => {
    await admin.call("acl", "setuser", "quiet", "reset", "on", ">pw", "~*", "&*", "+@all", "-publish");
    const logger = new RecordingLogger();
    const store = redisStore(server.url.replace("//", "//quiet:pw@"), { ...LONG_TIMEOUT, logger });
    await store.set("k", "kept");
    await store.set("k", "again");
    expect(await store.get("k")).toBe("again");
    await store.close();
    expect(logger.warnings).toEqual([expect.stringContaining("lacks the ACL rule +publish.")]);
  });

  it("says which ACL rule is missing, and needs no others", async () => {
    const url = server.url.replace("//", "//app:pw@");
    const operations: ((store: KeyValueStore) => Promise<unknown>)[] = [
      (store) => store.get("k"),
      (store) => store.set("k", 1),
      (store) => store.delete("k"),
      (store) => store.list(""),
      async (store) => (await store.lease?.("lease", { ttlMs: 60_000 }))?.renew(),
    ];
    const denied = [];
    for (const rules of [[], ["+@all"]]) {
      await admin.call("acl", "setuser", "app", "reset", "on", ">pw", ...rules);
      await using store = redisStore(url, LONG_TIMEOUT);
      denied.push(
        ...(await Promise.all(operations.slice(0, 5 - rules.length * 2).map((run) => rejection(run(store))))),
      );
    }
    expect(denied.map(({ kind }) => kind)).toEqual(denied.map(() => "unauthorized"));
    expect(denied.map(({ message }) => /ACL rule (.*?)\. /.exec(message)?.[1])).toEqual([
      "+getrange",
      "+set",
      "+del",
      "+scan",
      "+set",
      "~langchain-mcp-runtime:*",
      "~langchain-mcp-runtime:*",
      "~langchain-mcp-runtime:*",
    ]);
    const [, rules = ""] = /Grant the user: (.*)$/.exec(denied[0]?.message ?? "") ?? [];
    await admin.call("acl", "setuser", "app", "reset", "on", ">pw", ...rules.split(" "));
    const logger = new RecordingLogger();
    await using store = redisStore(url, { ...LONG_TIMEOUT, logger });
    await using other = redisStore(url, { ...LONG_TIMEOUT, logger });
    const changes: unknown[] = [];
    await store.watch?.((key) => changes.push(key));
    for (const run of operations) await run(other);
    await eventually(() => changes.length === 2);
    expect(logger.warnings).toEqual([]);
  });

  it("reports missing channel rights without waiting for its timeout", async () => {
    await admin.call("acl", "setuser", "deaf", "reset", "on", ">pw", "~*", "+@all");
    const logger = new RecordingLogger();
    // The test would time out first.
    await using store = redisStore(server.url.replace("//", "//deaf:pw@"), { timeoutMs: 60_000, logger });
    await store.watch?.(() => undefined);
    expect(logger.warnings).toEqual([
      expect.stringMatching(
        /could not subscribe to changes\. .*lacks the ACL rule &langchain-mcp-runtime:changes\./,
      ),
    ]);
    await store.set("k", 1);
  });

  it("uses one key per command, so that a cluster can spread them", async () => {
    const commands: string[][] = [];
    const monitor = await admin.monitor();
    monitor.on("monitor", (_time: string, args: string[]) => commands.push(args));
    await using store = redisStore(server.url, { ...LONG_TIMEOUT, namespace: "one-key" });
    await using mcp = await startMcpTestServer();
    // Lists with leases and the change feed, sessions, published servers.
    await using toolset = await createMcpTools(
      { test: { url: mcp.url, session: { store } } },
      { cache: { store } },
    );
    await toolset.callTool({ name: "test__echo", args: { text: "hello" } });
    await publishServer(store, { name: "published", url: mcp.url });
    const lease = await store.lease?.("lease", { ttlMs: 60_000 });
    await lease?.renew();
    await lease?.release();
    await store.delete("k");
    await store.list("");
    await eventually(() => commands.some(([name]) => name === "scan"));
    monitor.disconnect();
    const names = new Set(commands.map(([name = ""]) => name.toLowerCase()));
    expect([...names].filter((name) => ["multi", "exec", "watch"].includes(name))).toEqual([]);
    for (const name of ["getrange", "set", "del", "eval", "scan", "publish", "subscribe"])
      expect(names).toContain(name);
    const getKeys = (args: string[]) =>
      admin.call("command", "getkeys", ...args).catch((error: Error) => {
        if (/no key arguments|number of arguments/.test(error.message)) return [];
        throw error;
      });
    for (const args of commands) expect((await getKeys(args)) as string[]).not.toHaveProperty("1");
  });

  it("accepts Valkey's protocol name", async () => {
    await using store = redisStore(server.url.replace("redis:", "valkey:"), LONG_TIMEOUT);
    await store.set("k", 1);
    expect(await store.get("k")).toBe(1);
  });

  it("is not a cluster", async () => {
    await using store = redisStore(server.url.replace("redis:", "redis-cluster:"), LONG_TIMEOUT);
    expect(await rejection(store.get("k"))).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("not a Redis Cluster"),
    });
  });

  it("ignores invalid messages on the change channel", async () => {
    await using store = redisStore(server.url, { ...LONG_TIMEOUT, namespace: "feed" });
    const changes: unknown[] = [];
    await store.watch?.(() => {
      throw new Error("listener failed");
    });
    await store.watch?.((key) => changes.push(key));
    for (const message of ["", "x", "x ", `x ${"k".repeat(513)}`, "x valid"])
      await admin.publish("feed:changes", message);
    await eventually(() => changes.length > 0);
    expect(changes).toEqual(["valid"]);
  });
});

describe.skipIf(!HAS_REDIS)("a Redis store over TLS", () => {
  it("uses the certificate authority of the user's client, and explains a certificate that is not trusted", async () => {
    const tlsPort = await findFreePort();
    await using server = await RedisServer.start({ settings: tlsSettings(tlsPort) });
    const client = new Redis({ port: tlsPort, host: "localhost", tls: { ca: readPemFile("authority") } });
    await using store = redisStore(client, LONG_TIMEOUT);
    await using other = redisStore(server.url, LONG_TIMEOUT);
    const changes: unknown[] = [];
    await store.watch?.((key) => changes.push(key));
    await other.set("k", 1);
    expect(await store.get("k")).toBe(1);
    await eventually(() => changes.length === 1);
    client.disconnect();

    await using untrusted = redisStore(`rediss://localhost:${tlsPort}`, LONG_TIMEOUT);
    expect(await rejection(untrusted.get("k"))).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
    });
  });
});

describe.skipIf(!HAS_REDIS)("when Redis fails, a Redis store", () => {
  it("reports a refused connection immediately, and works once Redis is up", async () => {
    await using server = await RedisServer.start({ password: PASSWORD });
    await server.kill();
    await using store = redisStore(server.url, LONG_TIMEOUT);
    const errors = await Promise.all([store.get("k"), store.set("k", VALUE), store.list("")].map(rejection));
    for (const error of errors) {
      expect(error).toMatchObject({ kind: "unavailable", cause: { code: "ECONNREFUSED" } });
      expect(error.message).toContain(`127.0.0.1:${server.port}`);
      expect(printError(error)).not.toMatch(/canary/);
    }
    await server.start();
    await store.set("k", 1);
    expect(await store.get("k")).toBe(1);
  });

  it("fails pending operations, and works after a restart", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, LONG_TIMEOUT);
    await store.set("k", "before");
    server.pause();
    const pending = [store.get("k"), store.set("k", VALUE), store.list("")].map(rejection);
    await server.kill();
    for (const error of await Promise.all(pending)) {
      expect(error).toMatchObject({ kind: "unavailable" });
      expect(printError(error)).not.toContain(VALUE);
    }
    expect(await rejection(store.get("k"))).toMatchObject({ kind: "unavailable" });
    await server.start();
    expect(await store.get("k")).toBeUndefined();
    await store.set("k", "after");
    expect(await store.get("k")).toBe("after");
  });

  it("times out while Redis does not respond, and works when it responds again", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, SHORT_TIMEOUT);
    await eventually(() => isWritable(store));
    server.pause();
    const errors = await Promise.all([store.get("k"), store.set("other", VALUE)].map(rejection));
    for (const error of errors) {
      expect(error).toMatchObject({ kind: "timeout" });
      expect(error.message).toContain("700 ms");
      expect(printError(error)).not.toContain(VALUE);
    }
    server.resume();
    await eventually(() => isWritable(store));
  });

  it("drops a connection that no longer responds", async () => {
    await using server = await RedisServer.start();
    const rates = { resetOnConnect: 0, reset: 0, truncate: 0, blackhole: 1, delay: 0 };
    await using proxy = await FaultProxy.start({ target: `http://127.0.0.1:${server.port}`, seed: 1, rates });
    await using store = redisStore(proxy.url.replace("http:", "redis:"), SHORT_TIMEOUT);
    expect(await rejection(store.get("k"))).toMatchObject({ kind: "timeout" });
    proxy.stopFaults();
    await eventually(() => isWritable(store));
    await store.close();
    await eventually(() => proxy.openConnections === 0);
  });

  it("stops waiting when the caller aborts or the store is closed", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, LONG_TIMEOUT);
    await store.set("k", 1);
    server.pause();
    const controller = new AbortController();
    const read = rejection(store.get("k", { signal: controller.signal }));
    controller.abort("enough");
    expect(await read).toBe("enough");
    const closed = rejection(store.get("k"));
    server.resume();
    await store.close();
    expect(await closed).toMatchObject({ kind: "closed" });
  });

  it("applies its timeout to the user's client, which queues forever", async () => {
    await using server = await RedisServer.start();
    await server.kill();
    const client = new Redis(server.url, { maxRetriesPerRequest: null });
    client.on("error", () => undefined);
    await using store = redisStore(client, SHORT_TIMEOUT);
    expect(await rejection(store.get("k"))).toMatchObject({ kind: "timeout" });
    client.disconnect();
  });

  it("never reveals a password or a value that Redis echoes", async () => {
    const settings = ["--rename-command", "SET", ""];
    await using server = await RedisServer.start({ password: "right", settings });
    await using wrong = redisStore(server.url.replace("right", encodeURIComponent(PASSWORD)));
    const denied = await rejection(wrong.get("k"));
    expect(denied).toMatchObject({ kind: "unauthorized", cause: { code: "WRONGPASS" } });
    expect(printError(denied)).not.toMatch(/canary/);

    await using store = redisStore(server.url, LONG_TIMEOUT);
    const echoed = await rejection(store.set("k", VALUE));
    expect(echoed).toMatchObject({ kind: "unavailable", cause: { code: "ERR" } });
    expect(printError(echoed)).not.toMatch(/canary|right/);
  });
});

describe.skipIf(!HAS_REDIS)("the change feed of a Redis store", () => {
  it("does not keep the process alive after close", async () => {
    await using server = await RedisServer.start();
    const { execArgv, path } = getChildScript("src/stores/index");
    const script = `
      import { redisStore } from ${JSON.stringify(path)};
      const store = redisStore(${JSON.stringify(server.url)}, { timeoutMs: 60_000 });
      await store.watch(() => {});
      await store.close();
    `;
    const args = [...execArgv, "--input-type=module", "--eval", script];
    await promisify(execFile)(process.execPath, args, { timeout: 15_000 });
  });

  it("recovers with Redis and reports that changes may have been missed", async () => {
    await using server = await RedisServer.start();
    await using store = redisStore(server.url, LONG_TIMEOUT);
    await using other = redisStore(server.url, LONG_TIMEOUT);
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    await server.kill();
    await server.start();
    await eventually(() => changes.length === 1);
    await other.set("k", 1);
    await eventually(() => changes.length === 2);
    expect(changes).toEqual([undefined, "k"]);
  });

  it("recovers when its connection was lost without being closed", async () => {
    await using server = await RedisServer.start();
    const rates = { resetOnConnect: 0, reset: 0, truncate: 0, blackhole: 0, delay: 0 };
    await using proxy = await FaultProxy.start({ target: `http://127.0.0.1:${server.port}`, seed: 1, rates });
    await using store = redisStore(proxy.url.replace("http:", "redis:"), { timeoutMs: 300 });
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    server.pause();
    // The feed has pinged the paused server and has opened a second connection.
    await eventually(() => proxy.counts.connections > 1);
    server.resume();
    await eventually(() => changes.includes(undefined));
  });

  it("starts once Redis is up", async () => {
    await using server = await RedisServer.start();
    await server.kill();
    const logger = new RecordingLogger();
    await using store = redisStore(server.url, { ...SHORT_TIMEOUT, logger });
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    expect(logger.warnings).toEqual([expect.stringContaining("subscribe")]);
    await server.start();
    await eventually(() => changes.length === 1);
    expect(changes).toEqual([undefined]);
  });

  it("ends with the store, even while Redis is down", async () => {
    await using server = await RedisServer.start();
    const store = redisStore(server.url, SHORT_TIMEOUT);
    await store.watch?.(() => undefined);
    await server.kill();
    await store.close();
    expect(await rejection(store.watch?.(() => undefined) ?? Promise.resolve())).toMatchObject({
      kind: "closed",
    });
  });
});
