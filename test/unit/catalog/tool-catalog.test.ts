import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ToolListStore } from "../../../src/catalog/tool-list-store.js";
import { ToolCatalog } from "../../../src/catalog/tool-catalog.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonObject } from "../../../src/json/json.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const MINUTE_MS = 60_000;
const STALE_AFTER_MS = 5 * MINUTE_MS;
const tool = (name: string) => ({ name, run: () => "ok" });
const getUser = ({ configurable }: { configurable: JsonObject }) =>
  String(configurable["user"] ?? "anonymous");

/** A stored list with a valid checksum and arbitrary tools. */
function storedList(header: object, tools: readonly JsonObject[]): string {
  const body = JSON.stringify(tools);
  return `${JSON.stringify({ ...header, checksum: crc32(body) })}\n${body}`;
}

async function createFixture(store?: KeyValueStore, definition: object = {}) {
  const server = await startMcpTestServer({ tools: [tool("a")] });
  const clock = new FakeClock();
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const client = createTestClient(server, definition);
  const now = () => 1_000_000 + clock.now();
  const createCatalog = () =>
    new ToolCatalog(client, {
      staleAfterMs: STALE_AFTER_MS,
      store:
        store === undefined
          ? undefined
          : new ToolListStore({
              server: "test",
              fingerprint: "f",
              store,
              maxTools: 10_000,
              ttlMs: 10 * STALE_AFTER_MS,
              now,
              warn,
            }),
      clock,
      now,
      events: { emit: () => undefined },
      warn,
    });
  const catalog = createCatalog();
  return {
    server,
    clock,
    client,
    catalog,
    createCatalog,
    warnings,
    names: async (from = catalog) => (await from.list()).map(({ name }) => name),
    lists: () => server.received("tools/list").length,
    state: async (name: string, cancellation = new CancelScope()) =>
      (await catalog.find(name, { caller: {}, cancellation, maxAgeMs: MINUTE_MS, waitMs: 5_000 })).state,
    recheckedState: async (name: string) => {
      const options = { caller: {}, cancellation: new CancelScope(), maxAgeMs: MINUTE_MS, waitMs: 5_000 };
      return (await catalog.find(name, { ...options, mustRefetch: true })).state;
    },
    async [Symbol.asyncDispose]() {
      await catalog.close();
      await client.close();
      await server.close();
    },
  };
}

describe("the tools of a server", () => {
  it("are listed once for concurrent callers, and then cached", async () => {
    await using fixture = await createFixture();
    const lists = await Promise.all(times(10, () => fixture.names()));
    expect(lists).toEqual(times(10, () => ["a"]));
    fixture.clock.advance(STALE_AFTER_MS - 1);
    await fixture.names();
    expect(fixture.lists()).toBe(1);
  });

  it("are returned from the cache while one refresh runs", async () => {
    await using fixture = await createFixture();
    await fixture.names();
    fixture.server.tools = [tool("a"), tool("b")];
    fixture.clock.advance(STALE_AFTER_MS);
    expect(await Promise.all(times(5, () => fixture.names()))).toEqual(times(5, () => ["a"]));
    await eventually(async () => (await fixture.names()).includes("b"));
    expect(fixture.lists()).toBe(2);
  });

  it("stay cached when a refresh fails, and the failure is logged", async () => {
    await using fixture = await createFixture();
    await fixture.names();
    fixture.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    fixture.clock.advance(STALE_AFTER_MS);
    expect(await fixture.names()).toEqual(["a"]);
    await eventually(() => fixture.warnings.length === 1);
    expect(fixture.warnings[0]).toMatch(/refresh.*"test"/);
    expect(await fixture.names()).toEqual(["a"]);
  });

  it("are listed again if the list was empty", async () => {
    await using fixture = await createFixture();
    fixture.server.tools = [];
    expect(await fixture.names()).toEqual([]);
    fixture.server.tools = [tool("late")];
    expect(await fixture.names()).toEqual(["late"]);
  });

  it("the abort of one caller ends only that caller's wait", async () => {
    await using fixture = await createFixture();
    const controller = new AbortController();
    fixture.server.addFault({ type: "delay", ms: 50 }, { method: "tools/list" });
    const aborted = rejection(fixture.catalog.list({ signal: controller.signal }));
    const other = fixture.names();
    controller.abort(new Error("enough"));
    expect((await aborted).message).toBe("enough");
    expect(await other).toEqual(["a"]);
    expect(fixture.lists()).toBe(1);
  });

  it("a listing that is invalidated while it runs is taken, and followed by another one", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "delay", ms: 50 }, { method: "tools/list", times: 1 });
    const first = fixture.names();
    await fixture.server.waitFor("tools/list");
    fixture.catalog.invalidate();
    expect(await first).toEqual(["a"]);
    fixture.server.tools = [tool("new")];
    await eventually(async () => (await fixture.names()).includes("new"));
    expect(fixture.lists()).toBe(2);
  });

  it("a refresh during a listing waits for a listing of its own, which all refreshes share", async () => {
    await using fixture = await createFixture();
    fixture.server.addFault({ type: "delay", ms: 50 }, { method: "tools/list", times: 1 });
    const first = fixture.names();
    await fixture.server.waitFor("tools/list");
    const refreshes = times(10, () => fixture.catalog.refresh());
    await first;
    fixture.server.tools = [tool("new")];
    for (const tools of await Promise.all(refreshes)) expect(tools.map(({ name }) => name)).toEqual(["new"]);
    expect(fixture.lists()).toBe(2);
  });

  it("are listed once after several change notifications", async () => {
    await using fixture = await createFixture();
    await fixture.names();
    fixture.server.tools = [tool("b")];
    for (const _ of [1, 2, 3]) fixture.catalog.onListChanged();
    fixture.clock.advance(250);
    await eventually(async () => (await fixture.names()).includes("b"));
    expect(fixture.lists()).toBe(2);
  });

  it("are cached per identity", async () => {
    await using fixture = await createFixture(undefined, { identity: getUser, auth: () => "t" });
    const as = (user: string) => ({ context: { configurable: { user } } });
    await fixture.catalog.list(as("alice"));
    fixture.server.tools = [tool("b")];
    const [bobTool] = await fixture.catalog.list(as("bob"));
    const [aliceTool] = await fixture.catalog.list(as("alice"));
    expect([aliceTool?.name, bobTool?.name]).toEqual(["a", "b"]);
  });
});

describe("a store", () => {
  it("provides the tools to another process without a request", async () => {
    await using store = memoryStore();
    await using first = await createFixture(store);
    await first.names();
    await using second = await createFixture(store);
    second.server.tools = [tool("b")];
    expect(await second.names()).toEqual(["a"]);
    expect(second.lists()).toBe(0);
  });

  it("separates the lists of users and does not contain their names", async () => {
    const keys: string[] = [];
    await using memory = memoryStore();
    const store: KeyValueStore = {
      get: (key) => memory.get(key),
      set: async (key, value, options) => {
        keys.push(key);
        await memory.set(key, value, options);
      },
      delete: (key) => memory.delete(key),
      list: (prefix) => memory.list(prefix),
      close: () => memory.close(),
      [Symbol.asyncDispose]: () => memory.close(),
    };
    await using fixture = await createFixture(store, { identity: getUser, auth: () => "top-Secret-1" });
    for (const user of ["alice@x.test", "bob@x.test"])
      await fixture.catalog.list({ context: { configurable: { user } } });
    expect(new Set(keys).size).toBe(2);
    expect(JSON.stringify(keys)).not.toMatch(/alice|bob|Secret/);
  });

  it.each([
    ["garbage", "garbage"],
    ["an object", { listedAt: 1, tools: [{ name: "evil", inputSchema: {} }] }],
    ["a list from the future", storedList({ listedAt: 1e15 }, [{ name: "evil", inputSchema: {} }])],
  ])("that contains %s is ignored", async (_case, value) => {
    await using store = memoryStore();
    await using writer = await createFixture(store);
    await writer.names();
    const [key] = await store.list("tools/");
    await store.set(key ?? "", value);
    await using reader = await createFixture(store);
    reader.server.tools = [tool("true")];
    expect(await reader.names()).toEqual(["true"]);
  });

  it("with an invalid tool is ignored, and replaced by the list of the server", async () => {
    await using store = memoryStore();
    await using fixture = await createFixture(store);
    await fixture.names();
    const [key = ""] = await store.list("tools/");
    const valid = await store.get(key);
    await store.set(key, storedList({ listedAt: 1_000_000 }, [{ name: "a", inputSchema: "anything" }]));
    const catalog = fixture.createCatalog();
    expect(await catalog.getCached()).toBeUndefined();
    expect((await catalog.list())[0]?.inputSchema).toEqual({ type: "object" });
    await catalog.close();
    expect(await store.get(key)).toBe(valid);
  });

  it("that fails is logged", async () => {
    const broken = () => Promise.reject(new Error("disk on fire"));
    const store = {
      get: broken,
      set: broken,
      delete: broken,
      list: broken,
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
    await using fixture = await createFixture(store);
    expect(await fixture.names()).toEqual(["a"]);
    expect(fixture.warnings).toHaveLength(2);
    expect(fixture.warnings[0]).toMatch(/read.*disk on fire/);
  });
});

describe("looking up a tool", () => {
  it("with mustRefetch lists at most once a minute, even if the server has no tools left", async () => {
    await using fixture = await createFixture();
    await fixture.names();
    fixture.server.tools = [];
    expect(await fixture.state("a")).toBe("listed");
    expect(await Promise.all(times(5, () => fixture.recheckedState("a")))).toEqual(
      times(5, () => "unlisted"),
    );
    fixture.server.tools = [tool("a")];
    fixture.clock.advance(MINUTE_MS - 1);
    expect(await fixture.recheckedState("a")).toBe("unlisted");
    expect(fixture.lists()).toBe(2);
    fixture.clock.advance(1);
    expect(await fixture.recheckedState("a")).toBe("listed");
    expect(fixture.lists()).toBe(3);
  });

  it("lists once for concurrent lookups", async () => {
    await using fixture = await createFixture();
    const lookups = times(10, () => [fixture.state("a"), fixture.state("gone")]).flat();
    expect(await Promise.all(lookups)).toEqual(times(10, () => ["listed", "unlisted"]).flat());
    expect(fixture.lists()).toBe(1);
    expect(fixture.clock.pending).toBe(0);
  });

  it("lists again only when the list is too old", async () => {
    await using fixture = await createFixture();
    await fixture.state("late");
    fixture.server.tools = [tool("late")];
    fixture.clock.advance(MINUTE_MS - 1);
    expect(await fixture.state("late")).toBe("unlisted");
    fixture.clock.advance(1);
    expect(await fixture.state("late")).toBe("listed");
    expect(fixture.lists()).toBe(2);
  });

  it("is unknown if the list cannot be refreshed, without another attempt", async () => {
    await using fixture = await createFixture();
    expect(await fixture.state("gone")).toBe("unlisted");
    fixture.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    fixture.clock.advance(MINUTE_MS);
    expect(await fixture.state("gone")).toBe("unknown");
    expect(await fixture.state("gone")).toBe("unknown");
    expect(fixture.lists()).toBe(2);
  });

  it("ends when the caller cancels", async () => {
    await using fixture = await createFixture();
    const { promise, resolve } = deferred();
    fixture.server.tools = [tool("a")];
    fixture.server.addFault({ type: "hang" }, { method: "tools/list" });
    const cancellation = new CancelScope();
    const waiting = rejection(fixture.state("a", cancellation));
    await fixture.server.waitFor("tools/list");
    cancellation.cancel(new Error("gone"));
    expect((await waiting).message).toBe("gone");
    resolve();
    await promise;
  });
});
