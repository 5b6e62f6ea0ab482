import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Logger, type McpClient, ToolRegistry, type ToolRegistryOptions } from "../../../src/index.js";
import { dynamoStore, type KeyValueStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, eventually, failureOf, times } from "../../fixtures/clients.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";

const MINUTE_MS = 60_000;
const tool = (name: string) => ({ name, run: () => "ok" });
const nothing = () => undefined;
/** Nothing here is about time, and the machine may be busy. */
const PATIENT = { timeoutMs: 15_000 };

async function start() {
  const server = await startMcpTestServer({ tools: [tool("a")] });
  const clock = new FakeClock();
  const now = () => 1_000_000 + clock.now();
  const warnings: string[] = [];
  const logger: Logger = {
    debug: nothing,
    info: nothing,
    warn: (text) => warnings.push(text),
    error: nothing,
  };
  const opened: (McpClient | ToolRegistry)[] = [];
  const make = (options: ToolRegistryOptions = {}, definition: object = {}) => {
    const client = clientOf(server, definition);
    const registry = new ToolRegistry(
      { clients: { test: client } },
      { clock, now, logger, random: () => 0, ...options },
    );
    opened.push(client, registry);
    return registry;
  };
  return {
    server,
    clock,
    warnings,
    make,
    lists: () => server.received("tools/list").length,
    async [Symbol.asyncDispose]() {
      for (const each of opened.toReversed()) await each.close();
      await server.close();
    },
  };
}

const down = () => Promise.reject(new Error("nobody there"));
const DOWN: KeyValueStore = {
  get: down,
  set: down,
  delete: down,
  list: down,
  close: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

describe("a registry", () => {
  it("tells which server has a tool, in which version, and what the tool takes", async () => {
    await using scene = await start();
    const registry = scene.make();
    expect(await registry.find("a")).toEqual([
      {
        server: "test",
        version: "1.0.0",
        health: { state: "ok" },
        listedAt: 1_000_000,
        schemaHash: expect.stringMatching(/^[0-9a-f]{12}$/),
      },
    ]);
    expect(await registry.find("b")).toEqual([]);
  });

  it("asks a server once for all who want to know", async () => {
    await using scene = await start();
    const registry = scene.make();
    await Promise.all(times(10, () => registry.find("a")));
    expect(scene.lists()).toBe(1);
  });

  it("lists anew every five minutes, until it is closed", async () => {
    await using scene = await start();
    const registry = scene.make();
    await registry.find("a");
    for (const round of [2, 3]) {
      scene.server.tools = [tool(`v${round}`)];
      scene.clock.advance(5 * MINUTE_MS);
      await eventually(async () => (await registry.find(`v${round}`)).length === 1);
      expect(scene.lists()).toBe(round);
    }
    await registry.close();
    expect(scene.clock.pending).toBe(0);
    scene.clock.advance(50 * MINUTE_MS);
    expect(scene.lists()).toBe(3);
    expect((await failureOf(registry.find("a"))).kind).toBe("closed");
  });

  it("keeps the tools of a server that fails, tells since when, and offers those that are well first", async () => {
    await using scene = await start();
    await using other = await startMcpTestServer({ tools: [tool("a")] });
    await using one = clientOf(scene.server);
    await using two = clientOf(other, { name: "two" } as never);
    const now = () => 1_000_000 + scene.clock.now();
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
    await using registry = new ToolRegistry({ clients: { one, two } }, { clock: scene.clock, now, logger });
    await registry.refresh();
    const heal = scene.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    scene.clock.advance(1_000);
    await registry.refresh();
    scene.clock.advance(1_000);
    await registry.refresh();
    expect(await registry.find("a")).toMatchObject([
      { health: { state: "ok" }, listedAt: 1_002_000 },
      { health: { state: "failing", since: 1_001_000 }, listedAt: 1_000_000 },
    ]);
    heal();
    await registry.refresh();
    expect(await registry.records()).toMatchObject([
      { health: { state: "ok" } },
      { health: { state: "ok" } },
    ]);
  });

  it("does not know a server that was never reached, and does not ask it at every question", async () => {
    await using scene = await start();
    await scene.server.stop();
    const registry = scene.make({ stores: [memoryStore()] });
    expect(await registry.records()).toMatchObject([{ health: { state: "failing" }, listedAt: undefined }]);
    expect(await registry.find("a")).toEqual([]);
    expect(scene.warnings).toHaveLength(1);
  });

  it("is for what everybody is offered: a server that tells its users apart is not asked", async () => {
    await using scene = await start();
    const registry = scene.make({}, { identity: () => "catalogue", auth: () => "t" });
    expect(await registry.refresh()).toMatchObject([{ health: { state: "unknown" } }]);
    expect(scene.lists()).toBe(0);
  });

  it("does not open a client again that was closed", async () => {
    await using scene = await start();
    await using client = clientOf(scene.server);
    await using registry = new ToolRegistry({ clients: { client } }, { clock: scene.clock });
    await registry.find("a");
    await client.close();
    await registry.refresh();
    expect(scene.lists()).toBe(1);
    expect(scene.server.openSessions).toEqual([]);
  });

  it("that is closed in the middle of a listing ends it", async () => {
    await using scene = await start();
    scene.server.addFault({ type: "hang" }, { method: "tools/list" });
    const registry = scene.make();
    const asked = failureOf(registry.find("a"));
    await scene.server.waitFor("tools/list");
    await registry.close();
    expect((await asked).kind).toBe("closed");
    expect(scene.warnings).toEqual([]);
  });

  it.each([
    [{ stores: "redis" }, "stores"],
    [{ stores: [1] }, "stores"],
    [{ recordTtlMs: 0 }, "recordTtlMs"],
    [{ refreshIntervalMs: "1" }, "refreshIntervalMs"],
  ])("takes no %j", (options, path) => {
    expect(() => new ToolRegistry({ clients: {} }, options as never)).toThrow(path);
  });
});

describe("the stores of a registry", () => {
  it("are asked one after the other: one that is down is a warning", async () => {
    await using scene = await start();
    await using far = memoryStore();
    await scene.make({ stores: [far] }).find("a");
    expect(await scene.make({ stores: [DOWN, far] }).find("a")).toHaveLength(1);
    expect(scene.lists()).toBe(1);
    expect(scene.warnings[0]).toContain("nobody there");
  });

  it("that are near are told what one further away knew", async () => {
    await using scene = await start();
    await using near = memoryStore();
    await using far = memoryStore();
    await scene.make({ stores: [far] }).find("a");
    await scene.make({ stores: [near, far] }).find("a");
    expect(await scene.make({ stores: [near] }).find("a")).toHaveLength(1);
    expect(scene.lists()).toBe(1);
  });

  it("are believed for a minute, and asked again after it", async () => {
    await using scene = await start();
    await using store = memoryStore();
    const [one, two] = [scene.make({ stores: [store] }), scene.make({ stores: [store] })];
    await two.find("a");
    scene.server.tools = [tool("b")];
    await one.refresh();
    scene.clock.advance(MINUTE_MS - 1);
    expect(await two.find("b")).toEqual([]);
    scene.clock.advance(1);
    expect(await two.find("b")).toHaveLength(1);
    expect(scene.lists()).toBe(2);
  });

  it("that all go down leave the last good view", async () => {
    await using scene = await start();
    await using memory = memoryStore();
    let isDown = false;
    const store: KeyValueStore = { ...DOWN, get: (key) => (isDown ? down() : memory.get(key)) };
    const registry = scene.make({ stores: [store] });
    await registry.find("a");
    isDown = true;
    await scene.server.stop();
    scene.clock.advance(MINUTE_MS);
    expect(await registry.find("a")).toMatchObject([{ health: { state: "ok" } }]);
    scene.clock.advance(4 * MINUTE_MS);
    await eventually(async () => (await registry.find("a"))[0]?.health.state === "failing");
  });

  it("let ten processes use what one of them has listed", async () => {
    await using scene = await start();
    await using store = memoryStore({ now: () => 1_000_000 + scene.clock.now() });
    const registries = times(10, () => scene.make({ stores: [store] }));
    for (const registry of registries) await registry.find("a");
    expect(scene.lists()).toBe(1);
    const [first, ...others] = registries;
    await first?.refresh();
    scene.clock.advance(MINUTE_MS);
    for (const registry of others) await registry.find("a");
    expect(scene.lists()).toBe(2);
  });

  it("are refreshed by one of ten processes that started together", async () => {
    await using scene = await start();
    await using store = memoryStore({ now: () => 1_000_000 + scene.clock.now() });
    const registries = times(10, (n) => scene.make({ stores: [store], random: () => n / 10 }));
    for (const registry of registries) await registry.find("a");
    scene.clock.advance(5 * MINUTE_MS * 0.82);
    await eventually(() => scene.lists() === 2);
    await registries.at(-1)?.records();
    scene.clock.advance(5 * MINUTE_MS * 0.18);
    await Promise.all(registries.map((registry) => registry.records()));
    expect(scene.lists()).toBe(2);
  });

  const good = {
    server: "test",
    version: "1",
    health: { state: "ok" },
    listedAt: 1,
    tools: [["evil", "0123456789ab"]],
  };
  it.each([
    ["garbage", "garbage"],
    ["another server's record", { ...good, server: "elsewhere" }],
    ["tools without a hash", { ...good, tools: [["evil", "x"]] }],
    ["a tool twice", { ...good, tools: [...good.tools, ...good.tools] }],
    ["a list from the future", { ...good, listedAt: 1e15 }],
    ["a state that there is not", { ...good, health: { state: "great" } }],
    ["a failure from the future", { ...good, health: { state: "failing", since: 1e15 } }],
    ["a version as long as a book", { ...good, version: "1".repeat(1_000) }],
  ])("that hold %s hold nothing", async (_what, value) => {
    await using scene = await start();
    await using store = memoryStore();
    await scene.make({ stores: [store] }).find("a");
    const [key] = await store.list("registry/");
    await store.set(key ?? "", value);
    const registry = scene.make({ stores: [store] });
    expect(await registry.find("evil")).toEqual([]);
    expect(await registry.find("a")).toHaveLength(1);
    expect(scene.lists()).toBe(2);
  });

  it("cannot add a server or lead to another address", async () => {
    await using scene = await start();
    await using elsewhere = await startMcpTestServer();
    await using store = memoryStore();
    await store.set("registry/1/evil/0", { ...good, server: "evil", address: elsewhere.url });
    await scene.make({ stores: [store] }).find("a");
    const key = (await store.list("registry/")).find((name) => !name.includes("evil"));
    await store.set(key ?? "", { ...good, address: elsewhere.url, url: elsewhere.url });
    const registry = scene.make({ stores: [store] });
    expect((await registry.records()).map(({ server }) => server)).toEqual(["test"]);
    expect(Object.keys((await registry.find("evil"))[0] ?? {})).not.toContain("address");
    await registry.refresh();
    expect(elsewhere.requests).toEqual([]);
  });

  it("hold no address and no secret, and are not shared by two credentials", async () => {
    await using scene = await start();
    await using store = memoryStore();
    for (const secret of ["Canary-one-1", "Canary-two-2"])
      await scene.make({ stores: [store] }, { headers: { authorization: `Bearer ${secret}` } }).find("a");
    const keys = await store.list("");
    const values = await Promise.all(keys.map((key) => store.get(key)));
    expect(keys).toHaveLength(2);
    expect(JSON.stringify([keys, values])).not.toMatch(/Canary|127\.0\.0\.1/);
    expect(scene.lists()).toBe(2);
  });
});

describe.skipIf(!HAS_REDIS)("on a real Redis and a DynamoDB", { timeout: 60_000 }, () => {
  let redis: RedisServer;
  let dynamo: DynamoServer;
  beforeAll(async () => {
    redis = await RedisServer.start();
    dynamo = await DynamoServer.start();
    await dynamo.createTable("registry");
  }, 60_000);
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
    await dynamo[Symbol.asyncDispose]();
  });
  const levels = () => {
    const { client } = dynamo;
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
    return [
      redisStore(redis.url, { ...PATIENT, logger }),
      dynamoStore("registry", { client, ...PATIENT, logger }),
    ];
  };

  it("two processes share one view, and Redis may go", async () => {
    await using scene = await start();
    const stores = [levels(), levels(), levels()];
    const now = Date.now;
    try {
      const [one, two, three] = stores.map((each) => scene.make({ stores: each, now }));
      expect(await one?.find("a")).toHaveLength(1);
      expect(await two?.find("a")).toHaveLength(1);
      await redis.kill();
      expect(await three?.find("a")).toHaveLength(1);
      expect(scene.lists()).toBe(1);
      expect(scene.warnings.length).toBeGreaterThan(0);
    } finally {
      await Promise.all(stores.flat().map((store) => store.close()));
    }
  });
});
