import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ListStore } from "../../../src/catalog/tool-list-store.js";
import { ToolCatalog } from "../../../src/catalog/tool-catalog.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonObject } from "../../../src/json/json.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, eventually, failureOf, gate, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const MINUTE_MS = 60_000;
const FRESH_MS = 5 * MINUTE_MS;
const tool = (name: string) => ({ name, run: () => "ok" });
const userOf = ({ configurable }: { configurable: JsonObject }) => String(configurable["user"] ?? "nobody");

/** As it is kept, whatever the tools are. */
function storedList(head: object, tools: readonly JsonObject[]): string {
  const lines = [tools.map((info) => info["name"]), ...tools].map((line) => JSON.stringify(line)).join("\n");
  return `${JSON.stringify({ ...head, checksum: crc32(lines) })}\n${lines}`;
}

async function start(store?: KeyValueStore, definition: object = {}) {
  const server = await startMcpTestServer({ tools: [tool("a")] });
  const clock = new FakeClock();
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const client = clientOf(server, definition);
  const now = () => 1_000_000 + clock.now();
  const make = () =>
    new ToolCatalog({
      server: "test",
      source: client,
      staleAfterMs: FRESH_MS,
      store:
        store === undefined
          ? undefined
          : new ListStore({ server: "test", fingerprint: "f", store, ttlMs: 10 * FRESH_MS, now, warn }),
      clock,
      now,
      inspect: async () => undefined,
      warn,
    });
  const catalogue = make();
  return {
    server,
    clock,
    client,
    catalogue,
    make,
    warnings,
    names: async (from = catalogue) => (await from.list()).map(({ name }) => name),
    lists: () => server.received("tools/list").length,
    state: async (name: string, cancellation = new CancelScope()) =>
      (await catalogue.lookUp(name, { asker: {}, cancellation, maxAgeMs: MINUTE_MS, waitMs: 5_000 })).state,
    stateInDoubt: async (name: string) => {
      const options = { asker: {}, cancellation: new CancelScope(), maxAgeMs: MINUTE_MS, waitMs: 5_000 };
      return (await catalogue.lookUp(name, { ...options, isDoubted: true })).state;
    },
    async [Symbol.asyncDispose]() {
      await catalogue.close();
      await client.close();
      await server.close();
    },
  };
}

/** A catalogue that finds a list in the store which is as it was written, with a tool that nobody can read. */
async function plantUnreadable(
  scene: Awaited<ReturnType<typeof start>>,
  store: ReturnType<typeof memoryStore>,
) {
  await scene.names();
  const [key = ""] = await store.list("tools/");
  await store.set(key, storedList({ listedAt: 1_000_000 }, [{ name: "a", inputSchema: "anything" }]));
  return { planted: scene.make(), key };
}

describe("the tools of a server", () => {
  it("are listed once for all who ask together, and then are at hand", async () => {
    await using scene = await start();
    const asked = await Promise.all(times(10, () => scene.names()));
    expect(asked).toEqual(times(10, () => ["a"]));
    scene.clock.advance(FRESH_MS - 1);
    await scene.names();
    expect(scene.lists()).toBe(1);
  });

  it("are given as they were while one new listing runs", async () => {
    await using scene = await start();
    await scene.names();
    scene.server.tools = [tool("a"), tool("b")];
    scene.clock.advance(FRESH_MS);
    expect(await Promise.all(times(5, () => scene.names()))).toEqual(times(5, () => ["a"]));
    await eventually(async () => (await scene.names()).includes("b"));
    expect(scene.lists()).toBe(2);
  });

  it("stay what they were when the new listing fails, which is told", async () => {
    await using scene = await start();
    await scene.names();
    scene.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    scene.clock.advance(FRESH_MS);
    expect(await scene.names()).toEqual(["a"]);
    await eventually(() => scene.warnings.length === 1);
    expect(scene.warnings[0]).toContain('The tools of server "test" could not be listed again');
    expect(await scene.names()).toEqual(["a"]);
  });

  it("cannot be harmed by whoever has them", async () => {
    await using scene = await start();
    const [info] = await scene.catalogue.list();
    expect(() => Object.assign(info ?? {}, { name: "evil" })).toThrow(TypeError);
    expect(() => Object.assign(info?.inputSchema ?? {}, { evil: true })).toThrow(TypeError);
    expect(await scene.names()).toEqual(["a"]);
  });

  it("are asked for again when there were none", async () => {
    await using scene = await start();
    scene.server.tools = [];
    expect(await scene.names()).toEqual([]);
    scene.server.tools = [tool("late")];
    expect(await scene.names()).toEqual(["late"]);
  });

  it("one caller's patience ends only that caller's wait", async () => {
    await using scene = await start();
    const controller = new AbortController();
    scene.server.addFault({ type: "delay", ms: 50 }, { method: "tools/list" });
    const impatient = failureOf(scene.catalogue.list({ signal: controller.signal }));
    const patient = scene.names();
    controller.abort(new Error("enough"));
    expect((await impatient).message).toBe("enough");
    expect(await patient).toEqual(["a"]);
    expect(scene.lists()).toBe(1);
  });

  it("a listing that was overtaken by a change is not kept", async () => {
    await using scene = await start();
    scene.server.addFault({ type: "delay", ms: 50 }, { method: "tools/list", times: 1 });
    const first = scene.names();
    await scene.server.waitFor("tools/list");
    scene.catalogue.invalidate();
    await first;
    scene.server.tools = [tool("new")];
    expect(await scene.names()).toEqual(["new"]);
  });

  it("are listed once more, however often the server says that they changed", async () => {
    await using scene = await start();
    await scene.names();
    scene.server.tools = [tool("b")];
    for (const _ of [1, 2, 3]) scene.catalogue.hearChange();
    scene.clock.advance(250);
    await eventually(async () => (await scene.names()).includes("b"));
    expect(scene.lists()).toBe(2);
  });

  it("belong to whoever asks", async () => {
    await using scene = await start(undefined, { identity: userOf, auth: () => "t" });
    const as = (user: string) => ({ context: { configurable: { user } } });
    await scene.catalogue.list(as("alice"));
    scene.server.tools = [tool("b")];
    const [bobs] = await scene.catalogue.list(as("bob"));
    const [alices] = await scene.catalogue.list(as("alice"));
    expect([alices?.name, bobs?.name]).toEqual(["a", "b"]);
  });
});

describe("a store", () => {
  it("gives another process its tools before the server is asked", async () => {
    await using store = memoryStore();
    await using first = await start(store);
    await first.names();
    await using second = await start(store);
    second.server.tools = [tool("b")];
    expect(await second.names()).toEqual(["a"]);
    expect(second.lists()).toBe(0);
  });

  it("keeps the lists of two users apart, and neither's name", async () => {
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
    await using scene = await start(store, { identity: userOf, auth: () => "top-Secret-1" });
    for (const user of ["alice@x.test", "bob@x.test"])
      await scene.catalogue.list({ context: { configurable: { user } } });
    expect(new Set(keys).size).toBe(2);
    expect(JSON.stringify(keys)).not.toMatch(/alice|bob|Secret/);
  });

  it.each([
    ["garbage", "garbage"],
    ["no text", { listedAt: 1, tools: [{ name: "evil", inputSchema: {} }] }],
    ["a list from the future", storedList({ listedAt: 1e15 }, [{ name: "evil", inputSchema: {} }])],
  ])("that holds %s holds nothing", async (_what, value) => {
    await using store = memoryStore();
    await using writer = await start(store);
    await writer.names();
    const [key] = await store.list("tools/");
    await store.set(key ?? "", value);
    await using reader = await start(store);
    reader.server.tools = [tool("true")];
    expect(await reader.names()).toEqual(["true"]);
  });

  it("that holds a tool which nobody can read says so to whoever looks, and then holds nothing", async () => {
    await using store = memoryStore();
    await using scene = await start(store);
    const { planted, key } = await plantUnreadable(scene, store);
    const [info] = await planted.list();
    expect(() => info?.inputSchema).toThrow(
      'What is stored of tool "a" of server "test" cannot be read, and nothing can be said of it. The stored list is removed: try again, and the server is asked.',
    );
    expect(await store.list("tools/")).toEqual([]);
    const [listed] = await planted.list();
    expect(listed?.inputSchema).toEqual({ type: "object" });
    // Whoever still has the old one does not take the new one away.
    expect(() => info?.inputSchema).toThrow("cannot be read");
    expect(await store.list("tools/")).toEqual([key]);
  });

  it("that holds a tool which nobody can read says nothing of it when it is looked up", async () => {
    await using store = memoryStore();
    await using scene = await start(store);
    const { planted } = await plantUnreadable(scene, store);
    const options = { asker: {}, cancellation: new CancelScope(), maxAgeMs: MINUTE_MS, waitMs: 5_000 };
    expect(await planted.lookUp("a", options)).toMatchObject({
      state: "unknown",
      error: { kind: "invalid-response" },
    });
    expect(await planted.lookUp("a", options)).toMatchObject({ state: "listed" });
  });

  it("that fails is a warning", async () => {
    const broken = () => Promise.reject(new Error("disk on fire"));
    const store = {
      get: broken,
      set: broken,
      delete: broken,
      list: broken,
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
    await using scene = await start(store);
    expect(await scene.names()).toEqual(["a"]);
    expect(scene.warnings).toHaveLength(2);
    expect(scene.warnings[0]).toContain("could not be read: Error: disk on fire");
  });
});

describe("where a tool stands", () => {
  it("is asked anew by who doubts the list, at most once a minute, also of a server with no tools left", async () => {
    await using scene = await start();
    await scene.names();
    scene.server.tools = [];
    expect(await scene.state("a")).toBe("listed");
    expect(await Promise.all(times(5, () => scene.stateInDoubt("a")))).toEqual(times(5, () => "unlisted"));
    scene.server.tools = [tool("a")];
    scene.clock.advance(MINUTE_MS - 1);
    expect(await scene.stateInDoubt("a")).toBe("unlisted");
    expect(scene.lists()).toBe(2);
    scene.clock.advance(1);
    expect(await scene.stateInDoubt("a")).toBe("listed");
    expect(scene.lists()).toBe(3);
  });

  it("is told by the list, asked for once for all who want to know", async () => {
    await using scene = await start();
    const asked = times(10, () => [scene.state("a"), scene.state("gone")]).flat();
    expect(await Promise.all(asked)).toEqual(times(10, () => ["listed", "unlisted"]).flat());
    expect(scene.lists()).toBe(1);
    expect(scene.clock.pending).toBe(0);
  });

  it("is asked again no sooner than the list is too old", async () => {
    await using scene = await start();
    await scene.state("late");
    scene.server.tools = [tool("late")];
    scene.clock.advance(MINUTE_MS - 1);
    expect(await scene.state("late")).toBe("unlisted");
    scene.clock.advance(1);
    expect(await scene.state("late")).toBe("listed");
    expect(scene.lists()).toBe(2);
  });

  it("is not told by an older list when the new one cannot be had, and that is not tried at once again", async () => {
    await using scene = await start();
    expect(await scene.state("gone")).toBe("unlisted");
    scene.server.addFault({ type: "status", status: 500 }, { method: "tools/list" });
    scene.clock.advance(MINUTE_MS);
    expect(await scene.state("gone")).toBe("unknown");
    expect(await scene.state("gone")).toBe("unknown");
    expect(scene.lists()).toBe(2);
  });

  it("is not waited for by a caller who has gone", async () => {
    await using scene = await start();
    const { opened, open } = gate();
    scene.server.tools = [tool("a")];
    scene.server.addFault({ type: "hang" }, { method: "tools/list" });
    const cancellation = new CancelScope();
    const waiting = failureOf(scene.state("a", cancellation));
    await scene.server.waitFor("tools/list");
    cancellation.cancel(new Error("gone"));
    expect((await waiting).message).toBe("gone");
    open();
    await opened;
  });
});
