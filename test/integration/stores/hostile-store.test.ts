import { expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { McpServerManager, publishServer, registryServers } from "../../../src/manager/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { deferred, eventually, NO_RETRY } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

type Listener = (key: string | undefined) => void;

/** A store of an application that others can write to. */
function createStore(overrides: Partial<KeyValueStore> = {}): KeyValueStore {
  const memory = memoryStore();
  return {
    get: (key) => memory.get(key),
    set: (key, value, options) => memory.set(key, value, options),
    delete: (key) => memory.delete(key),
    list: (prefix) => memory.list(prefix),
    close: () => memory.close(),
    [Symbol.asyncDispose]: () => memory.close(),
    ...overrides,
  };
}

it("a change feed that reports something else than keys is a feed that may have missed changes", async () => {
  await using server = await startMcpTestServer();
  const listeners: Listener[] = [];
  const store = createStore({
    watch: async (listener) => {
      listeners.push(listener);
      return async () => undefined;
    },
  });
  await using mcp = await createMcpTools({ srv: { url: server.url, ...NO_RETRY } }, { cache: { store } });
  await eventually(() => listeners.length > 0);
  for (const key of [null, 5, {}, ["a"], Symbol("key")])
    for (const listener of listeners) expect(() => listener(key as never)).not.toThrow();
  expect(mcp.tools).not.toEqual([]);
});

it("a stored list of more tools than limits.tools is not used", async () => {
  await using server = await startMcpTestServer({
    tools: Array.from({ length: 3 }, (_, index) => ({ name: `tool${index}`, run: () => "" })),
  });
  const store = createStore();
  const open = (tools: number) =>
    createMcpTools({ srv: { url: server.url, limits: { tools } } }, { cache: { store } });
  await (await open(3)).close();
  await using cached = await open(3);
  expect(cached.tools).toHaveLength(3);
  await expect(open(2)).rejects.toMatchObject({ kind: "too-large" });
});

it("a record of a registry with many unknown keys is ignored with a short warning", async () => {
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, 1]));
  const store = createStore();
  await store.set("servers/1/wide", { name: "wide", url: "http://127.0.0.1:1/", ...keys });
  const logger = new RecordingLogger();
  const registry = registryServers(store, { allow: ["http://127.0.0.1:1"] });
  await using mcp = await createMcpTools({}, { registry, logger });
  expect(mcp.tools).toEqual([]);
  const [warning = ""] = logger.messages;
  expect(warning).toContain('Server "wide" of the registry is ignored.');
  expect(warning).toContain('"key0", "key1"');
  expect(warning).toContain("and 99980 more");
  expect(warning.length).toBeLessThan(1_000);
});

/** A manager of one server and a store that returns these for its leases. The server lists its tools when `ready` resolves. */
async function startWithLeases(leases: readonly unknown[], ready?: Promise<void>) {
  const server = await startMcpTestServer({
    intercept: async ({ body }) => {
      if (Reflect.get(Object(body), "method") === "tools/list") await ready;
      return false;
    },
  });
  const logger = new RecordingLogger();
  let taken = 0;
  const store = createStore({ lease: async () => leases[taken++] as never });
  const servers = { srv: { url: server.url, ...NO_RETRY } };
  const manager = new McpServerManager(servers, { logger, cache: { store } });
  return disposeWith({ logger, manager, leases: () => taken }, manager, server);
}

const LEASE = { renew: async () => true, release: async () => undefined };

it.each([null, false])("a cache store whose lease is %s is one whose lease is taken", async (lease) => {
  await using setup = await startWithLeases([lease, LEASE]);
  await setup.manager.connect();
  expect([setup.manager.connected, setup.leases(), setup.logger.warnings]).toEqual([["srv"], 2, []]);
});

it.each([true, 5, "yes", {}, { renew: LEASE.renew }, { release: LEASE.release }])(
  "a cache store whose lease is %o causes a warning, and the tools are listed without a lease",
  async (lease) => {
    await using setup = await startWithLeases([lease]);
    await setup.manager.connect();
    expect(setup.manager.connected).toEqual(["srv"]);
    expect(setup.logger.warnings.join()).toMatch(/"srv" could not be leased: .* instead of a lease\./);
  },
);

it("a lease that throws when it is renewed or released does not end the process", async () => {
  const renewed = deferred();
  const fail = () => {
    renewed.resolve();
    throw new Error("lost");
  };
  await using setup = await startWithLeases([{ renew: fail, release: fail }], renewed.promise);
  await setup.manager.connect();
  expect(setup.manager.connected).toEqual(["srv"]);
});

/** A store that calls its listeners whenever it is used, before it does anything. */
function createNoisyStore(key: string, overrides: Partial<KeyValueStore> = {}) {
  const listeners: Listener[] = [];
  const memory = createStore();
  const calls = { get: 0, list: 0, lease: 0 };
  const report = (operation: keyof typeof calls) => {
    calls[operation] += 1;
    for (const listener of listeners) listener(key);
  };
  const store = createStore({
    ...memory,
    get: (name) => {
      report("get");
      return memory.get(name);
    },
    list: (prefix) => {
      report("list");
      return memory.list(prefix);
    },
    watch: async (listener) => {
      listeners.push(listener);
      return async () => undefined;
    },
    ...overrides,
  });
  return { store, calls, report };
}

it("a registry whose change feed reports a change whenever it is read does not stop a toolset from starting", async () => {
  await using server = await startMcpTestServer();
  const { store } = createNoisyStore("servers/1/a");
  await publishServer(store, { name: "a", url: server.url });
  const registry = registryServers(store, { allow: [new URL(server.url).origin] });
  await using mcp = await createMcpTools({}, { registry, startupWaitMs: 10_000 });
  expect(mcp.tools.map(({ name }) => name)).toEqual(["a__echo"]);
});

it("a registry is read once a second at most because of its change feed", async () => {
  const { store, calls, report } = createNoisyStore("servers/1/a");
  const clock = new FakeClock();
  const manager = new McpServerManager({}, { clock });
  await registryServers(store, { allow: ["https://tools.example.com"] }).attach(manager);
  for (let seconds = 1; seconds <= 3; seconds += 1) {
    expect(calls.list).toBe(seconds);
    for (let count = 0; count < 100; count += 1) report("get");
    await eventually(() => clock.hasTimerIn(1_000));
    clock.advance(999);
    clock.advance(1);
    await eventually(() => calls.list > seconds);
  }
  await manager.close();
  expect(clock.pending).toBe(0);
});

it("a change of a registry is read at once after a quiet second, and one during a read after it", async () => {
  let finishRead: (() => void) | undefined;
  let isHeld = false;
  const { store, calls, report } = createNoisyStore("other/key", {
    list: () => {
      calls.list += 1;
      return isHeld ? new Promise((resolve) => (finishRead = () => resolve([]))) : Promise.resolve([]);
    },
  });
  const clock = new FakeClock();
  await using manager = new McpServerManager({}, { clock });
  const listeners: Listener[] = [];
  store.watch = async (listener) => {
    listeners.push(listener);
    return async () => undefined;
  };
  await registryServers(store, { allow: ["https://tools.example.com"] }).attach(manager);
  report("get");
  clock.advance(5_000);
  expect(calls.list).toBe(1);
  isHeld = true;
  for (const listener of listeners) listener("servers/1/a");
  clock.advance(0);
  await eventually(() => calls.list === 2);
  for (const listener of listeners) listener("servers/1/a");
  clock.advance(1_500);
  expect(calls.list).toBe(2);
  finishRead?.();
  await eventually(() => clock.hasTimerIn(1_000));
  clock.advance(1_000);
  await eventually(() => calls.list === 3);
  finishRead?.();
});

it("a cache store that reports a change whenever it is used is not asked for a lease without pause", async () => {
  await using server = await startMcpTestServer();
  const listeners: Listener[] = [];
  let leases = 0;
  const report = (): undefined => {
    for (const listener of listeners) listener(undefined);
  };
  const store = createStore({
    get: async () => report(),
    lease: async () => {
      leases += 1;
      report();
      return undefined;
    },
    watch: async (listener) => {
      listeners.push(listener);
      return async () => undefined;
    },
  });
  const servers = { srv: { url: server.url, ...NO_RETRY } };
  const manager = new McpServerManager(servers, { cache: { store } });
  const connecting = manager.connect().catch((error: unknown) => error);
  await eventually(() => leases > 2);
  expect(leases).toBeLessThan(100);
  await manager.close();
  expect(await connecting).toMatchObject({ kind: "closed" });
});

it("pins that cannot be read while a process waits for the list of another one do not end the process", async () => {
  await using server = await startMcpTestServer();
  const servers = { srv: { url: server.url, ...NO_RETRY } };
  const lists = createStore();
  let leases = 0;
  const store = createStore({
    get: async (key) => {
      if (key.startsWith("tools/")) return lists.get(key);
      throw new Error("down");
    },
    lease: async () => {
      leases += 1;
      return undefined;
    },
  });
  await using waiting = new McpServerManager(servers, { cache: { store }, pin: "block" });
  const connecting = waiting.connect();
  await eventually(() => leases > 0);
  await using other = new McpServerManager(servers, { cache: { store: lists } });
  await other.connect();
  await connecting;
  expect(String(waiting.errors.get("srv"))).toContain("Could not connect: Error: down");
});
