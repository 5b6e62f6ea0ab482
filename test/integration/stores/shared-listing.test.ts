import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { describe, expect, it, vi } from "vitest";
import { createMcpTools, type McpToolset } from "../../../src/index.js";
import { McpServerManager, publishServer, registryServers } from "../../../src/manager/index.js";
import { dynamoStore, type KeyValueStore, redisStore } from "../../../src/stores/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { deferred, eventually, times } from "../../fixtures/clients.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";

const first: TestTool = { name: "first", run: () => "1" };
const second: TestTool = { name: "second", run: () => "2" };
const WORKERS = 5;
const CHANNEL = "langchain-mcp-runtime:changes";

interface CacheOptions {
  readonly staleAfterMs?: number;
  readonly ttlMs?: number;
  readonly store?: KeyValueStore;
}

/** One server, one Redis, and toolsets that share no store object: each has its own connections, as a process would. */
async function createFixture() {
  const server = await startMcpTestServer({ tools: [first] });
  const redis = await RedisServer.start();
  const logger = new RecordingLogger();
  const children: ChildProcess[] = [];
  const closers: (() => Promise<void>)[] = [];
  return {
    server,
    redis,
    logger,
    lists: () => server.received("tools/list").length,
    openStore() {
      const store = redisStore(redis.url, { timeoutMs: 15_000, logger });
      closers.push(() => store.close());
      return store;
    },
    async open(options: CacheOptions = {}): Promise<McpToolset> {
      const cache = { store: options.store ?? this.openStore(), ...options };
      const toolset = await createMcpTools({ test: { url: server.url } }, { cache, logger });
      closers.push(() => toolset.close());
      return toolset;
    },
    openAll(options?: CacheOptions): Promise<McpToolset[]> {
      return Promise.all(times(WORKERS, () => this.open(options)));
    },
    /** Adds a tool, and announces it on the streams. */
    async changeTools() {
      server.tools = [first, second];
      await server.notifyToolsChanged();
    },
    startProcess() {
      const { execArgv, path } = getChildScript("test/fixtures/use-toolset");
      const child = fork(path, [server.url, redis.url], { execArgv });
      children.push(child);
      return child;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, "exit");
        child.disconnect();
        await exited;
      }
      for (const close of closers.toReversed()) await close();
      await server.close();
      await redis[Symbol.asyncDispose]();
    },
  };
}

const namesOf = ({ tools }: McpToolset) => tools.map(({ mcp }) => mcp.name);

describe.skipIf(!HAS_REDIS)("processes that share a Redis", { timeout: 60_000 }, () => {
  it("list a server once when they start together, although the list takes longer than a lease", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "delay", ms: 4_000 }, { method: "tools/list", times: 1 });
    const child = fixture.startProcess();
    const report = once(child, "message");
    await fixture.server.waitFor("tools/list");
    const toolset = await fixture.open();
    expect([namesOf(toolset), await report]).toEqual([["first"], [["test__first"], undefined]]);
    expect(fixture.lists()).toBe(1);
    await eventually(() => fixture.server.received("GET").length >= 2);
    const change = once(child, "message");
    await fixture.changeTools();
    await eventually(() => namesOf(toolset).includes("second"));
    expect((await change)[0]).toEqual(["test__first", "test__second"]);
  });

  it("list it once with DynamoDB, too, which has no change feed", async () => {
    await using fixture = await createFixture();
    await using dynamo = await DynamoServer.start();
    await dynamo.createTable("mcp");
    fixture.server.addFault({ type: "delay", ms: 1_000 }, { method: "tools/list", times: 1 });
    const openStore = () => dynamoStore("mcp", { client: dynamo.client as never, timeoutMs: 15_000 });
    const toolsets = await Promise.all(times(WORKERS, () => fixture.open({ store: openStore() })));
    expect(toolsets.map(namesOf)).toEqual(times(WORKERS, () => ["first"]));
    expect(fixture.lists()).toBe(1);
  });

  it("list it once when it announces a change, and all have the new tool", async () => {
    await using fixture = await createFixture();
    const toolsets = await fixture.openAll();
    expect(fixture.lists()).toBe(1);
    // A change is announced only to streams that are open.
    await eventually(() => fixture.server.received("GET").length >= WORKERS);
    await fixture.changeTools();
    await eventually(() => toolsets.every((toolset) => namesOf(toolset).includes("second")));
    expect(fixture.lists()).toBe(2);
  });

  it("list it once when their lists become stale", async () => {
    await using fixture = await createFixture();
    const toolsets = await fixture.openAll({ staleAfterMs: 1_000 });
    await eventually(async () => {
      await Promise.all(toolsets.map((toolset) => toolset.toolsFor({})));
      return fixture.lists() > 1;
    });
    await Promise.all(toolsets.map((toolset) => toolset.toolsFor({})));
    expect(fixture.lists()).toBe(2);
  });

  it("list it once when they start together, although the list is stale when it arrives", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "delay", ms: 1_000 }, { method: "tools/list", times: WORKERS });
    const toolsets = await fixture.openAll({ staleAfterMs: 500 });
    expect(toolsets.map(namesOf)).toEqual(times(WORKERS, () => ["first"]));
    expect(fixture.lists()).toBe(1);
  });

  it("get the list although the process that was to list it has died", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "hang" }, { method: "tools/list", times: 1 });
    const child = fixture.startProcess();
    await fixture.server.waitFor("tools/list");
    child.kill("SIGKILL");
    expect(namesOf(await fixture.open())).toEqual(["first"]);
    expect(fixture.lists()).toBe(2);
  });

  it("are warned once if the user of Redis may not renew and release leases", async () => {
    await using fixture = await createFixture();
    const { server, redis, logger } = fixture;
    const admin = new Redis(redis.url);
    await admin.call("acl", "setuser", "app", "on", ">pw", "~*", "&*", "+@all", "-eval");
    await admin.quit();
    await using store = redisStore(redis.url.replace("//", "//app:pw@"), { timeoutMs: 15_000, logger });
    const { url } = server;
    await using toolset = await createMcpTools({ one: { url }, two: { url } }, { cache: { store }, logger });
    expect(toolset.tools).toHaveLength(2);
    await eventually(() => logger.warnings.length > 0);
    expect(logger.warnings).toEqual([
      expect.stringMatching(/^Leases cannot be renewed or released.*lacks the ACL rule \+eval\./),
    ]);
  });

  it("follow many servers with one listener, which ends with the last server", async () => {
    await using fixture = await createFixture();
    const { server, redis, logger } = fixture;
    const store = fixture.openStore();
    const watch = vi.spyOn(store as Required<KeyValueStore>, "watch");
    const names = ["test", ...times(20, (n) => `s${n}`)];
    const servers = Object.fromEntries(names.map((name) => [name, { url: server.url }]));
    const rounds = [[first, second], [first]];
    for (const [index, tools] of rounds.entries()) {
      await using toolset = await createMcpTools(servers, { cache: { store }, logger });
      expect(watch).toHaveBeenCalledTimes(index + 1);
      await toolset.servers.remove("s0");
      server.tools = tools;
      await (await fixture.open()).refresh();
      const expected = tools.map(({ name }) => `test__${name}`).join();
      await eventually(async () => {
        const current = (await toolset.toolsFor({})).map(({ name }) => name);
        return current.filter((name) => name.startsWith("test__")).join() === expected;
      });
    }
    // Those of the toolsets that have refreshed.
    const admin = new Redis(redis.url);
    const countSubscribers = async () => String(await admin.call("pubsub", "numsub", CHANNEL));
    await eventually(async () => (await countSubscribers()) === `${CHANNEL},${rounds.length}`);
    await admin.quit();
  });

  it.each([
    ["the server has no tools", [], {}, 3],
    ["their lists are stale at once", [first], { staleAfterMs: 0, ttlMs: 60_000 }, 4],
  ])("do not wait for one another if %s", async (_, tools, options, limit) => {
    await using fixture = await createFixture();
    fixture.server.tools = tools;
    // Longer than the pauses between two attempts to take the turn.
    fixture.server.addFault({ type: "delay", ms: 1_500 }, { method: "tools/list" });
    let opened = 0;
    const opening = times(WORKERS, () => fixture.open(options).then(() => (opened += 1)));
    // A toolset whose list is stale at once lists again.
    const sessions = () =>
      fixture.server.received("tools/list").map(({ headers }) => headers["mcp-session-id"]);
    await eventually(() => new Set(sessions()).size === WORKERS);
    // One after the other, four of them would be open.
    expect(opened).toBeLessThan(limit);
    await Promise.all(opening);
  });

  it("notice a change although the clock of the process that listed the tools is ahead", async () => {
    await using fixture = await createFixture();
    const toolset = await fixture.open();
    await eventually(() => fixture.server.received("GET").length > 0);
    const other = fixture.openStore();
    const [key = ""] = await other.list("tools/");
    const [header = "", body = ""] = String(await other.get(key)).split("\n");
    const reported = deferred();
    await fixture.openStore().watch?.(() => reported.resolve());
    const aheadBy30s = { ...(JSON.parse(header) as object), listedAt: Date.now() + 30_000 };
    await other.set(key, `${JSON.stringify(aheadBy30s)}\n${body}`);
    await reported.promise;
    await fixture.changeTools();
    await eventually(() => namesOf(toolset).includes("second"));
  });

  it("ask the server each when a caller wants the current list", async () => {
    await using fixture = await createFixture();
    const toolsets = await fixture.openAll();
    await Promise.all(toolsets.map((toolset) => toolset.refresh()));
    expect(fixture.lists()).toBe(1 + WORKERS);
  });

  it("check the health of a published server once for all", async () => {
    await using fixture = await createFixture();
    const allow = [new URL(fixture.server.url).origin];
    await publishServer(fixture.openStore(), { name: "test", url: fixture.server.url });
    const managers = times(
      WORKERS,
      () => new McpServerManager({}, { cache: { store: fixture.openStore() } }),
    );
    try {
      const refreshIntervalMs = 500;
      for (const manager of managers)
        await registryServers(fixture.openStore(), { allow, refreshIntervalMs }).attach(manager);
      await eventually(() => managers.every(({ connected }) => connected.length === 1));
      const startedAt = performance.now();
      const before = fixture.lists();
      await eventually(() => fixture.lists() >= before + 3);
      // Each worker has checked several times. There is an interval between two requests.
      expect(performance.now() - startedAt).toBeGreaterThan(2 * refreshIntervalMs);
    } finally {
      await Promise.all(managers.map((manager) => manager.close()));
    }
  });

  it("go on without it, with one warning each", async () => {
    await using fixture = await createFixture();
    const toolsets = await Promise.all([fixture.open(), fixture.open()]);
    await eventually(() => fixture.server.received("GET").length >= 2);
    await fixture.redis.kill();
    for (const toolset of toolsets) expect((await toolset.callTool({ name: "first" })).text()).toBe("1");
    expect(fixture.logger.warnings).toEqual([]);
    await fixture.changeTools();
    await eventually(() => toolsets.every((toolset) => namesOf(toolset).includes("second")));
    for (const toolset of toolsets) expect((await toolset.callTool({ name: "second" })).text()).toBe("2");
    await Promise.all(toolsets.map((toolset) => toolset.refresh()));
    expect(fixture.logger.warnings).toEqual(
      times(2, () =>
        expect.stringMatching(/^The stored tools of server "test" could not be leased: .*until it works/),
      ),
    );
  });
});
