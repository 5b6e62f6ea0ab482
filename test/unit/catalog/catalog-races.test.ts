import { describe, expect, it } from "vitest";
import { ToolListStore } from "../../../src/catalog/tool-list-store.js";
import { ToolCatalog } from "../../../src/catalog/tool-catalog.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { McpToolInfo } from "../../../src/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { rejection, deferred, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const HOUR_MS = 3_600_000;
const tool = (name: string): McpToolInfo => ({ name, inputSchema: { type: "object" } });

/** A catalog whose server and store are controlled by the test. */
function createFixture(store?: KeyValueStore) {
  const clock = new FakeClock();
  const now = () => 1_000_000 + clock.now();
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const server = { tools: [tool("a")], lists: 0, beforeResponse: async () => undefined as void };
  const createCatalog = (name = "test") =>
    new ToolCatalog(
      {
        name,
        state: "ready",
        identityOf: ({ context }) => String(context?.configurable?.["user"] ?? ""),
        listTools: async () => {
          server.lists += 1;
          const { tools } = server;
          await server.beforeResponse();
          return tools;
        },
        protocolVersion: undefined,
        hintProtocolVersion: () => undefined,
        on: () => () => undefined,
      },
      {
        staleAfterMs: HOUR_MS,
        store:
          store === undefined
            ? undefined
            : new ToolListStore({
                server: name,
                fingerprint: "f",
                store,
                maxTools: 10_000,
                ttlMs: 9 * HOUR_MS,
                now,
                warn,
              }),
        clock,
        now,
        events: { emit: () => undefined },
        warn,
      },
    );
  const listNames = async (catalog: ToolCatalog) => (await catalog.list()).map(({ name }) => name);
  const findState = async (catalog: ToolCatalog, name: string) => {
    const limits = { maxAgeMs: HOUR_MS, waitMs: 1_000, caller: {}, cancellation: new CancelScope() };
    return (await catalog.find(name, limits)).state;
  };
  return { clock, server, warnings, createCatalog, listNames, findState };
}

/** A memory store that counts reads, can be delayed or fail, and notifies of changes. */
function createControlledStore() {
  const memory = memoryStore();
  const controls = {
    reads: 0,
    beforeRead: async () => undefined as void,
    beforeWrite: async () => undefined as void,
    notifyChange: () => undefined as void,
  };
  const store: KeyValueStore = {
    get: async (key) => {
      controls.reads += 1;
      const value = await memory.get(key);
      await controls.beforeRead();
      return value;
    },
    set: async (key, value, options) => {
      await controls.beforeWrite();
      await memory.set(key, value, options);
    },
    delete: (key) => memory.delete(key),
    list: (prefix) => memory.list(prefix),
    watch: async (listener) => {
      controls.notifyChange = () => listener(undefined);
      return async () => undefined;
    },
    close: () => memory.close(),
    [Symbol.asyncDispose]: () => memory.close(),
  };
  return { store, controls };
}

describe("a store and a server", () => {
  it("concurrent callers read the store once", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, listNames } = createFixture(store);
    const catalog = createCatalog();
    await Promise.all(times(10, () => listNames(catalog)));
    expect(controls.reads).toBe(1);
  });

  it("an older list that is read late does not replace a newer one", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, listNames, server, clock } = createFixture(store);
    await listNames(createCatalog());
    clock.advance(1_000);
    const catalog = createCatalog();
    const { promise, resolve } = deferred();
    controls.beforeRead = () => promise;
    const early = listNames(catalog);
    server.tools = [tool("b")];
    await catalog.refresh();
    resolve();
    expect(await early).toEqual(["b"]);
    expect(await listNames(catalog)).toEqual(["b"]);
  });

  it("the cached list stays when the store reports a change and then fails", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, listNames, server, findState } = createFixture(store);
    const catalog = createCatalog();
    await listNames(catalog);
    controls.beforeRead = () => Promise.reject(new Error("down"));
    server.beforeResponse = () => Promise.reject(new Error("server down"));
    controls.notifyChange();
    expect(await listNames(catalog)).toEqual(["a"]);
    controls.notifyChange();
    expect(await findState(catalog, "a")).toBe("listed");
  });

  it("a list written by another process is used for a lookup", async () => {
    const { store } = createControlledStore();
    const { createCatalog, listNames, server, findState } = createFixture(store);
    await listNames(createCatalog());
    expect(await findState(createCatalog(), "a")).toBe("listed");
    expect(server.lists).toBe(1);
  });

  it("a list from a clock that is slightly ahead is not listed again", async () => {
    const { store } = createControlledStore();
    const { createCatalog, listNames, server, clock } = createFixture(store);
    clock.advance(5_000);
    await listNames(createCatalog());
    clock.advance(-5_000);
    await listNames(createCatalog());
    expect(server.lists).toBe(1);
  });

  it("each server name gets a valid and unique store key", async () => {
    await using store = memoryStore();
    const { createCatalog, warnings } = createFixture(store);
    for (const name of ["é".repeat(900), `${"é".repeat(899)}è`, "\ud800", "a b", "a_b"])
      await createCatalog(name).list();
    expect(warnings).toEqual([]);
    expect(await store.list("tools/")).toHaveLength(5);
  });
});

describe("a tool of a server without tools", () => {
  it("is unlisted on every lookup", async () => {
    const { createCatalog, server, findState } = createFixture();
    server.tools = [];
    const catalog = createCatalog();
    expect([await findState(catalog, "a"), await findState(catalog, "a")]).toEqual(["unlisted", "unlisted"]);
  });
});

describe("a closed catalog", () => {
  it("sends no request", async () => {
    const { createCatalog, server, clock } = createFixture();
    const catalog = createCatalog();
    await catalog.list();
    await catalog.close();
    expect((await rejection(catalog.refresh())).kind).toBe("closed");
    catalog.onListChanged();
    clock.advance(HOUR_MS);
    expect(clock.pending).toBe(0);
    expect(server.lists).toBe(1);
  });

  it("sends no request if it is closed while the store is read", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, server } = createFixture(store);
    const { promise, resolve } = deferred();
    controls.beforeRead = () => promise;
    const catalog = createCatalog();
    const listing = rejection(catalog.list());
    await catalog.close();
    resolve();
    expect((await listing).kind).toBe("closed");
    expect(server.lists).toBe(0);
  });

  it("cancels a background listing without a warning", async () => {
    const { createCatalog, listNames, server, clock, warnings } = createFixture();
    const catalog = createCatalog();
    await listNames(catalog);
    const { promise: opened, resolve: open } = deferred();
    server.beforeResponse = async () => {
      await opened;
      throw new Error("too late");
    };
    clock.advance(HOUR_MS);
    await listNames(catalog);
    await catalog.close();
    open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.lists).toBe(2);
    expect(warnings).toEqual([]);
  });
});

describe("a list at the time of close", () => {
  it("is written to the store before close ends", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, server } = createFixture(store);
    const [listed, written] = [deferred(), deferred()];
    controls.beforeWrite = () => {
      listed.resolve();
      return written.promise;
    };
    const catalog = createCatalog();
    const listing = catalog.list();
    await listed.promise;
    const closing = catalog.close();
    written.resolve();
    await closing;
    expect(await store.list("")).toHaveLength(1);
    await listing;
    expect(server.lists).toBe(1);
  });

  it("delays close for a limited time", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, clock } = createFixture(store);
    const { promise, resolve } = deferred();
    controls.beforeWrite = () => {
      resolve();
      return new Promise(() => undefined);
    };
    const catalog = createCatalog();
    void catalog.list();
    await promise;
    const closing = catalog.close();
    clock.advance(2_000);
    await closing;
    expect(clock.pending).toBe(0);
  });
});

describe("many users", () => {
  it("do not evict the list of an active user", async () => {
    const { createCatalog, server } = createFixture();
    const catalog = createCatalog();
    const as = (user: string) => ({ context: { configurable: { user } } });
    for (const n of times(1_500, (index) => index)) {
      await catalog.list(as(`u${n}`));
      await catalog.list(as("boss"));
    }
    expect(server.lists).toBe(1_501);
  });
});

describe("the large lists of many users", () => {
  const users = times(17, (index) => ({ context: { configurable: { user: `u${index}` } } }));
  const [first = {}, ...others] = users;
  const large = { ...tool("a"), description: "x".repeat(1_100_000) };

  it("are not kept when they come from the store", async () => {
    const { store, controls } = createControlledStore();
    const { createCatalog, server } = createFixture(store);
    server.tools = [large];
    const [writer, reader] = [createCatalog(), createCatalog()];
    for (const user of users) await writer.list(user);
    for (const user of users) await reader.list(user);
    const before = controls.reads;
    await reader.list(first);
    expect([controls.reads - before, server.lists]).toEqual([1, 17]);
  });

  it("are refreshed after a change that the server announced before they were read again", async () => {
    const { createCatalog, server } = createFixture(createControlledStore().store);
    server.tools = [large];
    const catalog = createCatalog();
    await catalog.list(first);
    catalog.invalidate();
    for (const user of others) await catalog.list(user);
    await catalog.list(first);
    expect(server.lists).toBe(18);
  });
});

describe("a very large list", () => {
  it("is cached, with a schema of 200,000 values", async () => {
    await using store = memoryStore();
    const { createCatalog, server, listNames } = createFixture(store);
    server.tools = [{ name: "wide", inputSchema: { enum: times(200_000, (n) => n) } }];
    expect(await listNames(createCatalog())).toEqual(["wide"]);
  });
});
