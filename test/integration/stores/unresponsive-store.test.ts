import { describe, expect, it } from "vitest";
import { createMcpTools, type McpToolsOptions } from "../../../src/index.js";
import { McpServerManager, type McpServerManagerOptions, ToolRegistry } from "../../../src/manager/index.js";
import { fromBaseStore, type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, eventually, NO_RETRY, rejection, times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

/** Enough for three operations of a store without a time limit of its own, and less than a handshake may take. */
const STORE_LIMITS_MS = 6_000;
type Operation = "get" | "set" | "watch";

/** A store of an application, of which these operations never settle. */
function createStore(...stuck: readonly Operation[]) {
  const memory = memoryStore();
  const calls: string[] = [];
  const signals: AbortSignal[] = [];
  const run = <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    calls.push(operation);
    return stuck.includes(operation) ? new Promise<T>(() => undefined) : work();
  };
  const store: KeyValueStore = {
    get: (key, options) => {
      if (options?.signal !== undefined) signals.push(options.signal);
      return run("get", () => memory.get(key));
    },
    set: (key, value, options) => run("set", () => memory.set(key, value, options)),
    delete: (key) => memory.delete(key),
    list: (prefix) => memory.list(prefix),
    watch: () => run("watch", async () => async () => undefined),
    close: () => memory.close(),
    [Symbol.asyncDispose]: () => memory.close(),
  };
  return { store, calls, signals };
}

/** A manager of one server, on a clock that the test drives. */
async function createFixture(options: McpServerManagerOptions) {
  const server = await startMcpTestServer();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const manager = new McpServerManager(
    { srv: { url: server.url, ...NO_RETRY } },
    { clock, logger, ...options },
  );
  return {
    server,
    clock,
    logger,
    manager,
    async [Symbol.asyncDispose]() {
      await manager.close();
      await server.close();
    },
  };
}

describe("a cache store that does not respond", () => {
  it("does not stop a toolset from starting, and is not waited for again", async () => {
    const { store, calls } = createStore("get", "set", "watch");
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer();
    const options: McpToolsOptions = { cache: { store }, logger };
    const mcp = await createMcpTools({ one: { url: server.url }, two: { url: server.url } }, options);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["one__echo", "two__echo"]);
    expect(logger.warnings.join()).toMatch(/"one" could not be read: .*within 2000 ms/);
    expect(calls).toEqual(["watch", "get", "get"]);
    await mcp.close();
    await eventually(() => server.openSockets === 0);
  });

  it.each([
    ["get", "could not be read"],
    ["set", "could not be written"],
  ] as const)("does not stop a server from connecting (%s)", async (operation, warning) => {
    const { store } = createStore(operation);
    await using fixture = await createFixture({ cache: { store } });
    await fixture.clock.advanceUntilSettled(fixture.manager.connect(), STORE_LIMITS_MS);
    expect(fixture.manager.toolsOf("srv")?.map(({ name }) => name)).toEqual(["echo"]);
    expect(fixture.logger.warnings.join()).toContain(warning);
  });

  it("does not stop a server from connecting (watch)", async () => {
    const { store } = createStore("watch");
    await using fixture = await createFixture({ cache: { store } });
    await fixture.manager.connect();
    expect(fixture.manager.connected).toEqual(["srv"]);
    expect(fixture.logger.warnings).toEqual([]);
  });

  it("is asked to abort the operation", async () => {
    const { store, signals } = createStore("get");
    await using fixture = await createFixture({ cache: { store } });
    await fixture.clock.advanceUntilSettled(fixture.manager.connect(), STORE_LIMITS_MS);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("that throws instead of returning a promise does not stop a server from connecting", async () => {
    const fail = () => {
      throw new Error("not ready");
    };
    const store = { get: fail, set: fail, watch: fail } as unknown as KeyValueStore;
    await using fixture = await createFixture({ cache: { store } });
    await fixture.manager.connect();
    expect(fixture.manager.connected).toEqual(["srv"]);
    expect(fixture.logger.warnings).toHaveLength(3);
  });

  it("that subscribes late is read again then", async () => {
    const { store, calls } = createStore();
    let subscribe: (() => void) | undefined;
    const late: KeyValueStore = {
      ...store,
      watch: () => new Promise((resolve) => (subscribe = () => resolve(async () => undefined))),
    };
    await using fixture = await createFixture({ cache: { store: late } });
    await fixture.manager.connect();
    fixture.clock.advance(STORE_LIMITS_MS);
    const { catalog } = fixture.manager.serverSet.get("srv");
    const reads = () => calls.filter((call) => call === "get").length;
    await catalog.list();
    expect(reads()).toBe(1);
    subscribe?.();
    await eventually(async () => {
      await catalog.list();
      return reads() === 2;
    });
  });
});

describe("a store of pins that does not respond", () => {
  it("fails the server with block, because changes could not be detected", async () => {
    const { store } = createStore("get");
    await using fixture = await createFixture({ cache: { store }, pin: "block" });
    await fixture.clock.advanceUntilSettled(fixture.manager.connect(), STORE_LIMITS_MS);
    expect(fixture.manager.failed).toEqual(["srv"]);
    expect(fixture.manager.errors.get("srv")).toMatchObject({ kind: "unavailable" });
  });

  it("causes a warning with warn", async () => {
    const { store } = createStore("get", "set");
    await using fixture = await createFixture({ cache: { store }, pin: "warn" });
    await fixture.clock.advanceUntilSettled(fixture.manager.connect(), STORE_LIMITS_MS);
    expect(fixture.manager.connected).toEqual(["srv"]);
    expect(fixture.logger.warnings.join()).toContain("approved tools (pins)");
  });
});

describe("a registry whose store does not respond", () => {
  it.each(["get", "set"] as const)("lists the server itself (%s)", async (operation) => {
    const { store } = createStore(operation);
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await using registry = new ToolRegistry(
      { clients: { test: client } },
      { stores: [store], clock, logger },
    );
    const [location] = await clock.advanceUntilSettled(registry.find("echo"), STORE_LIMITS_MS);
    expect(location).toMatchObject({ server: "test", health: { state: "ok" } });
    expect(logger.warnings.join()).toContain(`could not be ${operation === "get" ? "read" : "written"}`);
  });

  it("is closed without waiting for the store", async () => {
    const { store, calls } = createStore("get");
    const logger = new RecordingLogger();
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const registry = new ToolRegistry(
      { clients: { test: client } },
      { stores: [store], clock: new FakeClock(), logger },
    );
    const finding = rejection(registry.find("echo"));
    await eventually(() => calls.length === 1);
    await registry.close();
    expect(await finding).toMatchObject({ kind: "closed" });
  });
});

describe("10,000 operations of a backend that never responds", () => {
  it("are not kept", async () => {
    const hang = () => new Promise<never>(() => undefined);
    const backend = { mget: hang, mset: hang, mdelete: hang, yieldKeys: hang } as never;
    await using store = fromBaseStore(backend, { timeoutMs: 1, logger: new RecordingLogger() });
    const readMany = (count: number) => Promise.all(times(count, (n) => rejection(store.get(`key ${n}`))));
    const getHeapBytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await readMany(2_000);
    const before = getHeapBytes();
    await readMany(10_000);
    // Timers that have fired are released a little later.
    await eventually(() => getHeapBytes() - before < 1_000_000);
  });
});
