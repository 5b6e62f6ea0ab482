import { describe, expect, it } from "vitest";
import { ListStore } from "../../../src/catalog/tool-list-store.js";
import { ToolCatalog } from "../../../src/catalog/tool-catalog.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { McpToolInfo } from "../../../src/index.js";
import { type KeyValueStore, memoryStore } from "../../../src/stores/index.js";
import { failureOf, gate, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const HOUR_MS = 3_600_000;
const tool = (name: string): McpToolInfo => ({ name, inputSchema: { type: "object" } });

/** A catalogue whose server and store do what the test says, when it says so. */
function scene(store?: KeyValueStore) {
  const clock = new FakeClock();
  const now = () => 1_000_000 + clock.now();
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const server = { tools: [tool("a")], lists: 0, answer: async () => undefined as void };
  const make = (name = "test") =>
    new ToolCatalog({
      server: name,
      source: {
        identityOf: ({ context }) => String(context?.configurable?.["user"] ?? ""),
        listTools: async () => {
          server.lists += 1;
          const { tools } = server;
          await server.answer();
          return tools;
        },
      },
      staleAfterMs: HOUR_MS,
      store:
        store === undefined
          ? undefined
          : new ListStore({ server: name, fingerprint: "f", store, ttlMs: 9 * HOUR_MS, now, warn }),
      clock,
      now,
      inspect: async () => undefined,
      warn,
    });
  const namesOf = async (catalogue: ToolCatalog) => (await catalogue.list()).map(({ name }) => name);
  const stateOf = async (catalogue: ToolCatalog, name: string) => {
    const limits = { maxAgeMs: HOUR_MS, waitMs: 1_000, asker: {}, cancellation: new CancelScope() };
    return (await catalogue.lookUp(name, limits)).state;
  };
  return { clock, server, warnings, make, namesOf, stateOf };
}

/** A memory store that tells of every read, can be held up, be down, and speak of changes. */
function storeInHand() {
  const memory = memoryStore();
  const hand = {
    reads: 0,
    beforeRead: async () => undefined as void,
    beforeWrite: async () => undefined as void,
    say: () => undefined as void,
  };
  const store: KeyValueStore = {
    get: async (key) => {
      hand.reads += 1;
      const value = await memory.get(key);
      await hand.beforeRead();
      return value;
    },
    set: async (key, value, options) => {
      await hand.beforeWrite();
      await memory.set(key, value, options);
    },
    delete: (key) => memory.delete(key),
    list: (prefix) => memory.list(prefix),
    watch: async (listener) => {
      hand.say = () => listener(undefined);
      return async () => undefined;
    },
    close: () => memory.close(),
    [Symbol.asyncDispose]: () => memory.close(),
  };
  return { store, hand };
}

describe("a store and a server", () => {
  it("ten who ask together read the store once", async () => {
    const { store, hand } = storeInHand();
    const { make, namesOf } = scene(store);
    const catalogue = make();
    await Promise.all(times(10, () => namesOf(catalogue)));
    expect(hand.reads).toBe(1);
  });

  it("an older list that comes from the store late does not replace a newer one", async () => {
    const { store, hand } = storeInHand();
    const { make, namesOf, server, clock } = scene(store);
    await namesOf(make());
    clock.advance(1_000);
    const catalogue = make();
    const { opened, open } = gate();
    hand.beforeRead = () => opened;
    const early = namesOf(catalogue);
    server.tools = [tool("b")];
    await catalogue.refresh();
    open();
    expect(await early).toEqual(["b"]);
    expect(await namesOf(catalogue)).toEqual(["b"]);
  });

  it("what is known stays when the store says that it may have missed something, and then is down", async () => {
    const { store, hand } = storeInHand();
    const { make, namesOf, server, stateOf } = scene(store);
    const catalogue = make();
    await namesOf(catalogue);
    hand.beforeRead = () => Promise.reject(new Error("down"));
    server.answer = () => Promise.reject(new Error("down, too"));
    hand.say();
    expect(await namesOf(catalogue)).toEqual(["a"]);
    hand.say();
    expect(await stateOf(catalogue, "a")).toBe("listed");
  });

  it("a list that another process wrote is good enough to look a tool up", async () => {
    const { store } = storeInHand();
    const { make, namesOf, server, stateOf } = scene(store);
    await namesOf(make());
    expect(await stateOf(make(), "a")).toBe("listed");
    expect(server.lists).toBe(1);
  });

  it("a clock that is a little ahead elsewhere is no reason to ask again", async () => {
    const { store } = storeInHand();
    const { make, namesOf, server, clock } = scene(store);
    clock.advance(5_000);
    await namesOf(make());
    clock.advance(-5_000);
    await namesOf(make());
    expect(server.lists).toBe(1);
  });

  it("whatever a server is called, its list has a key of its own that the store takes", async () => {
    await using store = memoryStore();
    const { make, warnings } = scene(store);
    for (const name of ["é".repeat(900), `${"é".repeat(899)}è`, "\ud800", "a b", "a_b"])
      await make(name).list();
    expect(warnings).toEqual([]);
    expect(await store.list("tools/")).toHaveLength(5);
  });
});

describe("a tool of a server that has none any more", () => {
  it("is unlisted each time it is looked up", async () => {
    const { make, server, stateOf } = scene();
    server.tools = [];
    const catalogue = make();
    expect([await stateOf(catalogue, "a"), await stateOf(catalogue, "a")]).toEqual(["unlisted", "unlisted"]);
  });
});

describe("a catalogue that was closed", () => {
  it("asks no server again, whoever asks it", async () => {
    const { make, server, clock } = scene();
    const catalogue = make();
    await catalogue.list();
    await catalogue.close();
    expect((await failureOf(catalogue.refresh())).kind).toBe("closed");
    catalogue.hearChange();
    clock.advance(HOUR_MS);
    expect(clock.pending).toBe(0);
    expect(server.lists).toBe(1);
  });

  it("while its store was being read asks no server", async () => {
    const { store, hand } = storeInHand();
    const { make, server } = scene(store);
    const { opened, open } = gate();
    hand.beforeRead = () => opened;
    const catalogue = make();
    const listing = failureOf(catalogue.list());
    await catalogue.close();
    open();
    expect((await listing).kind).toBe("closed");
    expect(server.lists).toBe(0);
  });

  it("ends a listing that runs beside, and says nothing", async () => {
    const { make, namesOf, server, clock, warnings } = scene();
    const catalogue = make();
    await namesOf(catalogue);
    const { opened, open } = gate();
    server.answer = async () => {
      await opened;
      throw new Error("too late");
    };
    clock.advance(HOUR_MS);
    await namesOf(catalogue);
    await catalogue.close();
    open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.lists).toBe(2);
    expect(warnings).toEqual([]);
  });
});

describe("what was listed when a catalogue is closed", () => {
  it("is in the store when the closing is over", async () => {
    const { store, hand } = storeInHand();
    const { make, server } = scene(store);
    const [listed, written] = [gate(), gate()];
    hand.beforeWrite = () => {
      listed.open();
      return written.opened;
    };
    const catalogue = make();
    const listing = catalogue.list();
    await listed.opened;
    const closing = catalogue.close();
    written.open();
    await closing;
    expect(await store.list("")).toHaveLength(1);
    await listing;
    expect(server.lists).toBe(1);
  });

  it("does not hold up the closing for long", async () => {
    const { store, hand } = storeInHand();
    const { make, clock } = scene(store);
    const { opened, open } = gate();
    hand.beforeWrite = () => {
      open();
      return new Promise(() => undefined);
    };
    const catalogue = make();
    void catalogue.list();
    await opened;
    const closing = catalogue.close();
    clock.advance(2_000);
    await closing;
    expect(clock.pending).toBe(0);
  });
});

describe("many users", () => {
  it("who come and go take no list from one who stays", async () => {
    const { make, server } = scene();
    const catalogue = make();
    const as = (user: string) => ({ context: { configurable: { user } } });
    for (const n of times(1_500, (index) => index)) {
      await catalogue.list(as(`u${n}`));
      await catalogue.list(as("boss"));
    }
    expect(server.lists).toBe(1_501);
  });
});

describe("a list as large as servers make them", () => {
  it("is kept, with a schema of two hundred thousand values", async () => {
    await using store = memoryStore();
    const { make, server, namesOf } = scene(store);
    server.tools = [{ name: "wide", inputSchema: { enum: times(200_000, (n) => n) } }];
    expect(await namesOf(make())).toEqual(["wide"]);
  });
});
