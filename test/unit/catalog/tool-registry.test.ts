import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { McpClient } from "../../../src/index.js";
import { ToolRegistry, type ToolRegistryOptions } from "../../../src/manager/index.js";
import { dynamoStore, type KeyValueStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, eventually, rejection, times } from "../../fixtures/clients.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const MINUTE_MS = 60_000;
const tool = (name: string) => ({ name, run: () => "ok" });
/** These tests do not measure time, and the machine may be busy. */
const PATIENT = { timeoutMs: 15_000 };

async function createFixture() {
  const server = await startMcpTestServer({ tools: [tool("a")] });
  const clock = new FakeClock();
  const now = () => 1_000_000 + clock.now();
  const logger = new RecordingLogger();
  const opened: (McpClient | ToolRegistry)[] = [];
  const createRegistry = (options: ToolRegistryOptions = {}, definition: object = {}) => {
    const client = createTestClient(server, definition);
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
    warnings: logger.warnings,
    createRegistry,
    lists: () => server.received("tools/list").length,
    async [Symbol.asyncDispose]() {
      for (const closable of opened.toReversed()) await closable.close();
      await server.close();
    },
  };
}

const down = () => Promise.reject(new Error("store down"));
const DOWN: KeyValueStore = {
  get: down,
  set: down,
  delete: down,
  list: down,
  close: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

describe("a registry", () => {
  it("finds the server of a tool, with its version and schema hash", async () => {
    await using fixture = await createFixture();
    const registry = fixture.createRegistry();
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

  it("lists a server once for concurrent callers", async () => {
    await using fixture = await createFixture();
    const registry = fixture.createRegistry();
    await Promise.all(times(10, () => registry.find("a")));
    expect(fixture.lists()).toBe(1);
  });

  it("lists every five minutes until it is closed", async () => {
    await using fixture = await createFixture();
    const registry = fixture.createRegistry();
    await registry.find("a");
    for (const round of [2, 3]) {
      fixture.server.tools = [tool(`v${round}`)];
      fixture.clock.advance(5 * MINUTE_MS);
      await eventually(async () => (await registry.find(`v${round}`)).length === 1);
      expect(fixture.lists()).toBe(round);
    }
    await registry.close();
    expect(fixture.clock.pending).toBe(0);
    fixture.clock.advance(50 * MINUTE_MS);
    expect(fixture.lists()).toBe(3);
    expect((await rejection(registry.find("a"))).kind).toBe("closed");
  });

  it("warns when a refresh finds a changed input schema", async () => {
    await using fixture = await createFixture();
    const { server, warnings } = fixture;
    const schema = (properties: object) => ({ type: "object" as const, properties });
    const search = (properties: object) => ({ ...tool("search"), inputSchema: schema(properties) });
    server.tools = [search({ limit: { type: "integer", maximum: 9 } }), tool("a")];
    const store = memoryStore();
    const registry = fixture.createRegistry({ stores: [store] });
    const other = fixture.createRegistry({ stores: [store] });
    await registry.refresh();
    await other.records();
    await registry.refresh();
    expect(warnings).toEqual([]);
    server.tools = [search({ limit: { type: "integer", maximum: 5 } }), tool("a"), tool("b")];
    await registry.refresh();
    expect(warnings).toEqual([
      'Server "test" changed the input schema of a tool: "search" (breaking: limit no longer accepts all previous values).',
    ]);
    server.tools = [search({ limit: { type: "integer", maximum: 5 }, page: { type: "integer" } })];
    await registry.refresh();
    expect(warnings.at(-1)).toContain('"search" (additive: page is new).');
    // The other process learns it from the store, and does not know the schemas.
    warnings.length = 0;
    fixture.clock.advance(2 * MINUTE_MS);
    await other.records();
    expect(warnings).toEqual(['Server "test" changed the input schema of a tool: "search".']);
  });

  it("keeps the tools of a failing server, and returns healthy servers first", async () => {
    await using fixture = await createFixture();
    await using other = await startMcpTestServer({ tools: [tool("a")] });
    await using one = createTestClient(fixture.server);
    await using two = createTestClient(other, { name: "two" } as never);
    const now = () => 1_000_000 + fixture.clock.now();
    const logger = new RecordingLogger();
    await using registry = new ToolRegistry({ clients: { one, two } }, { clock: fixture.clock, now, logger });
    await registry.refresh();
    const heal = fixture.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    fixture.clock.advance(1_000);
    await registry.refresh();
    fixture.clock.advance(1_000);
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

  it("marks a server that was never reached as failing, and does not list it on every lookup", async () => {
    await using fixture = await createFixture();
    await fixture.server.stop();
    const registry = fixture.createRegistry({ stores: [memoryStore()] });
    expect(await registry.records()).toMatchObject([{ health: { state: "failing" }, listedAt: undefined }]);
    expect(await registry.find("a")).toEqual([]);
    expect(fixture.warnings).toHaveLength(1);
  });

  it("does not list a server with an identity per user", async () => {
    await using fixture = await createFixture();
    const registry = fixture.createRegistry({}, { identity: () => "catalog", auth: () => "t" });
    expect(await registry.refresh()).toMatchObject([{ health: { state: "unknown" } }]);
    expect(fixture.lists()).toBe(0);
  });

  it("does not reopen a closed client", async () => {
    await using fixture = await createFixture();
    await using client = createTestClient(fixture.server);
    await using registry = new ToolRegistry({ clients: { client } }, { clock: fixture.clock });
    await registry.find("a");
    await client.close();
    await registry.refresh();
    expect(fixture.lists()).toBe(1);
    expect(fixture.server.openSessions).toEqual([]);
  });

  it("cancels a running listing on close", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "hang" }, { method: "tools/list" });
    const registry = fixture.createRegistry();
    const lookup = rejection(registry.find("a"));
    await fixture.server.waitFor("tools/list");
    await registry.close();
    expect((await lookup).kind).toBe("closed");
    expect(fixture.warnings).toEqual([]);
  });

  it.each([
    [{ stores: "redis" }, "stores"],
    [{ stores: [1] }, "stores"],
    [{ recordTtlMs: 0 }, "recordTtlMs"],
    [{ refreshIntervalMs: "1" }, "refreshIntervalMs"],
  ])("rejects %j", (options, path) => {
    expect(() => new ToolRegistry({ clients: {} }, options as never)).toThrow(
      expect.objectContaining({ kind: "invalid-config", issues: [expect.objectContaining({ path })] }),
    );
  });
});

describe("the stores of a registry", () => {
  it("are read one after the other, and a failing one is logged", async () => {
    await using fixture = await createFixture();
    await using far = memoryStore();
    await fixture.createRegistry({ stores: [far] }).find("a");
    expect(await fixture.createRegistry({ stores: [DOWN, far] }).find("a")).toHaveLength(1);
    expect(fixture.lists()).toBe(1);
    expect(fixture.warnings[0]).toContain("store down");
  });

  it("before the one with the record receive a copy", async () => {
    await using fixture = await createFixture();
    await using near = memoryStore();
    await using far = memoryStore();
    await fixture.createRegistry({ stores: [far] }).find("a");
    await fixture.createRegistry({ stores: [near, far] }).find("a");
    expect(await fixture.createRegistry({ stores: [near] }).find("a")).toHaveLength(1);
    expect(fixture.lists()).toBe(1);
  });

  it("are read again after a minute", async () => {
    await using fixture = await createFixture();
    await using store = memoryStore();
    const [one, two] = [
      fixture.createRegistry({ stores: [store] }),
      fixture.createRegistry({ stores: [store] }),
    ];
    await two.find("a");
    fixture.server.tools = [tool("b")];
    await one.refresh();
    fixture.clock.advance(MINUTE_MS - 1);
    expect(await two.find("b")).toEqual([]);
    fixture.clock.advance(1);
    expect(await two.find("b")).toHaveLength(1);
    expect(fixture.lists()).toBe(2);
  });

  it("that fail leave the last record in use", async () => {
    await using fixture = await createFixture();
    await using memory = memoryStore();
    let isDown = false;
    const store: KeyValueStore = { ...DOWN, get: (key) => (isDown ? down() : memory.get(key)) };
    const registry = fixture.createRegistry({ stores: [store] });
    await registry.find("a");
    isDown = true;
    await fixture.server.stop();
    fixture.clock.advance(MINUTE_MS);
    expect(await registry.find("a")).toMatchObject([{ health: { state: "ok" } }]);
    fixture.clock.advance(4 * MINUTE_MS);
    await eventually(async () => (await registry.find("a"))[0]?.health.state === "failing");
  });

  it("share the list of one process with the others", async () => {
    await using fixture = await createFixture();
    await using store = memoryStore({ now: () => 1_000_000 + fixture.clock.now() });
    const registries = times(10, () => fixture.createRegistry({ stores: [store] }));
    for (const registry of registries) await registry.find("a");
    expect(fixture.lists()).toBe(1);
    const [first, ...others] = registries;
    await first?.refresh();
    fixture.clock.advance(MINUTE_MS);
    for (const registry of others) await registry.find("a");
    expect(fixture.lists()).toBe(2);
  });

  it("are refreshed by one of ten processes", async () => {
    await using fixture = await createFixture();
    await using store = memoryStore({ now: () => 1_000_000 + fixture.clock.now() });
    const registries = times(10, (n) => fixture.createRegistry({ stores: [store], random: () => n / 10 }));
    for (const registry of registries) await registry.find("a");
    fixture.clock.advance(5 * MINUTE_MS * 0.82);
    await eventually(() => fixture.lists() === 2);
    await registries.at(-1)?.records();
    fixture.clock.advance(5 * MINUTE_MS * 0.18);
    await Promise.all(registries.map((registry) => registry.records()));
    expect(fixture.lists()).toBe(2);
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
    ["an unknown state", { ...good, health: { state: "great" } }],
    ["a failure from the future", { ...good, health: { state: "failing", since: 1e15 } }],
    ["a version that is too long", { ...good, version: "1".repeat(1_000) }],
  ])("that contain %s are ignored", async (_case, value) => {
    await using fixture = await createFixture();
    await using store = memoryStore();
    await fixture.createRegistry({ stores: [store] }).find("a");
    const [key] = await store.list("registry/");
    await store.set(key ?? "", value);
    const registry = fixture.createRegistry({ stores: [store] });
    expect(await registry.find("evil")).toEqual([]);
    expect(await registry.find("a")).toHaveLength(1);
    expect(fixture.lists()).toBe(2);
  });

  it("have no hidden characters in the version", async () => {
    await using fixture = await createFixture();
    await using store = memoryStore();
    await fixture.createRegistry({ stores: [store] }).find("a");
    const [key] = await store.list("registry/");
    const stored = (await store.get(key ?? "")) as object;
    await store.set(key ?? "", { ...stored, version: "1\u202e.2\u{e0041}\u001b[31m" });
    const [record] = await fixture.createRegistry({ stores: [store] }).records();
    expect(record?.version).toBe("1.2");
  });

  it("cannot add a server or change an address", async () => {
    await using fixture = await createFixture();
    await using elsewhere = await startMcpTestServer();
    await using store = memoryStore();
    await store.set("registry/1/evil/0", { ...good, server: "evil", address: elsewhere.url });
    await fixture.createRegistry({ stores: [store] }).find("a");
    const key = (await store.list("registry/")).find((name) => !name.includes("evil"));
    await store.set(key ?? "", { ...good, address: elsewhere.url, url: elsewhere.url });
    const registry = fixture.createRegistry({ stores: [store] });
    expect((await registry.records()).map(({ server }) => server)).toEqual(["test"]);
    expect(Object.keys((await registry.find("evil"))[0] ?? {})).not.toContain("address");
    await registry.refresh();
    expect(elsewhere.requests).toEqual([]);
  });

  it("contain no address or secret, and are separate per credentials", async () => {
    await using fixture = await createFixture();
    await using store = memoryStore();
    for (const secret of ["Canary-one-1", "Canary-two-2"])
      await fixture
        .createRegistry({ stores: [store] }, { headers: { authorization: `Bearer ${secret}` } })
        .find("a");
    const keys = await store.list("");
    const values = await Promise.all(keys.map((key) => store.get(key)));
    expect(keys).toHaveLength(2);
    expect(JSON.stringify([keys, values])).not.toMatch(/Canary|127\.0\.0\.1/);
    expect(fixture.lists()).toBe(2);
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
  const openStores = () => {
    const { client } = dynamo;
    const logger = new RecordingLogger();
    return [
      redisStore(redis.url, { ...PATIENT, logger }),
      dynamoStore("registry", { client, ...PATIENT, logger }),
    ];
  };

  it("processes share records, also when Redis fails", async () => {
    await using fixture = await createFixture();
    const stores = [openStores(), openStores(), openStores()];
    const now = Date.now;
    try {
      const [one, two, three] = stores.map((tiers) => fixture.createRegistry({ stores: tiers, now }));
      expect(await one?.find("a")).toHaveLength(1);
      expect(await two?.find("a")).toHaveLength(1);
      await redis.kill();
      expect(await three?.find("a")).toHaveLength(1);
      expect(fixture.lists()).toBe(1);
      expect(fixture.warnings.length).toBeGreaterThan(0);
    } finally {
      await Promise.all(stores.flat().map((store) => store.close()));
    }
  });
});
