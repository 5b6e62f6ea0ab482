import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpTools } from "../../src/index.js";
import { redisStore } from "../../src/stores/index.js";
import { startMcpTestServer } from "../../src/testing/index.js";
import { eventually } from "../fixtures/clients.js";
import { RecordingLogger } from "../fixtures/recording-logger.js";
import { RedisSentinel } from "../fixtures/redis-sentinel.js";
import { REDIS_COMMANDS } from "../fixtures/redis-server.js";

/** Generous, because the machine may be busy. */
const LONG_TIMEOUT = { timeoutMs: 15_000 };

const TRUE_OR_FALSE = [() => true, () => false] as const;

describe.each(REDIS_COMMANDS)("a store with a client for a Sentinel of %s", (command) => {
  let sentinel: RedisSentinel;
  let client: Redis;
  beforeAll(async () => {
    sentinel = await RedisSentinel.start({ command });
    client = new Redis({ ...sentinel.clientOptions, enableOfflineQueue: false, lazyConnect: true });
    client.on("error", () => undefined);
    await client.connect();
  });
  afterAll(async () => {
    client.disconnect();
    await sentinel[Symbol.asyncDispose]();
  });

  it("uses the master that Sentinel names", async () => {
    await using store = redisStore(client, LONG_TIMEOUT);
    await using other = redisStore(sentinel.master.url, LONG_TIMEOUT);
    const changes: unknown[] = [];
    await store.watch?.((key) => changes.push(key));
    await other.set("k", 1);
    expect(await store.get("k")).toBe(1);
    expect(await store.list("")).toEqual(["k"]);
    await eventually(() => changes.length === 1);
  });

  it("works again after the master was killed, and tool calls work all the time", async () => {
    await using store = redisStore(client, { timeoutMs: 1_000 });
    await using other = redisStore(client, LONG_TIMEOUT);
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer();
    await using toolset = await createMcpTools({ test: { url: server.url } }, { cache: { store }, logger });
    const changes: (string | undefined)[] = [];
    await store.watch?.((key) => changes.push(key));
    await store.set("k", "before");
    expect(await client.wait(1, 5_000)).toBe(1);
    const progress = { isFailingOver: true };
    const killed = sentinel.killMaster().finally(() => {
      progress.isFailingOver = false;
    });
    while (progress.isFailingOver) {
      const operations = [store.get("k"), store.set("during", 1), store.list("")];
      for (const outcome of await Promise.allSettled(operations))
        // ioredis sends commands again that were in flight: those may time out.
        if (outcome.status === "rejected") expect(["unavailable", "timeout"]).toContain(outcome.reason.kind);
      const result = await toolset.callTool({ name: "test__echo", args: { text: "hello" } });
      expect(result.text()).toBe("hello");
    }
    await killed;
    await eventually(() => store.set("late", "after").then(...TRUE_OR_FALSE));
    expect(await store.get("late")).toBe("after");
    // Written before the master was killed, and replicated.
    expect(await store.list("")).toEqual(expect.arrayContaining(["k", "late"]));
    expect(await store.get("k")).toBe("before");
    // Changes may have been missed while the feed was down.
    await eventually(() => changes.includes(undefined));
    await other.set("k", "other");
    await eventually(() => changes.includes("k"));
    const lease = await store.lease?.("lease", { ttlMs: 60_000 });
    expect(await lease?.renew()).toBe(true);
    // The toolset keeps its tools, and reads the store again without a warning.
    await toolset.toolsFor({});
    expect(logger.warnings).toEqual([]);
  });
});
