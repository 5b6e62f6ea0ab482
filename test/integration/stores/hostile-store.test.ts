import { expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { registryServers } from "../../../src/manager/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, NO_RETRY } from "../../fixtures/clients.js";
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
