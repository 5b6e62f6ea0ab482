import { describe, expect, it, vi } from "vitest";
import { createMcpTools, type McpTool } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import type { KeyValueStore } from "../../../src/stores/key-value-store.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { SearchIndex } from "../../../src/tool-search/search-index.js";
import { ToolSearch, type ToolSearchOptions } from "../../../src/tool-search/tool-search.js";
import { deferred, emitUntil, times } from "../../fixtures/clients.js";

const DESCRIPTIONS = {
  rain: "Tells whether to take an umbrella.",
  invoice: "Finds a bill.",
  song: "Plays music.",
};

const createTool = ([name, description]: readonly [string, string]) => ({ name, description, run: () => "" });

async function openTools(descriptions: Readonly<Record<string, string>> = DESCRIPTIONS) {
  const server = await startMcpTestServer({ tools: Object.entries(descriptions).map(createTool) });
  const mcp = await createMcpTools({ office: { url: server.url } });
  const close = async () => {
    await mcp.close();
    await server.close();
  };
  return { server, mcp, tools: mcp.tools, [Symbol.asyncDispose]: close };
}

/** Knows that wet weather has to do with umbrellas, and money with bills; counts what it embeds. */
class TopicEmbeddings {
  readonly embedded: string[] = [];

  async embedQuery(text: string): Promise<number[]> {
    return toTopics(text);
  }

  async embedDocuments(texts: string[]): Promise<number[][]> {
    this.embedded.push(...texts);
    return texts.map(toTopics);
  }
}

function toTopics(text: string): number[] {
  return [/umbrella|weather|wet/i, /bill|money/i, /music|song/i].map((topic) => (topic.test(text) ? 1 : 0.1));
}

async function search(options: ToolSearchOptions, query: string, warn?: (message: string) => void) {
  await using office = await openTools();
  const { hits } = await new ToolSearch(options, warn).search({ query, tools: office.tools });
  return hits.map(({ tool }) => tool.mcp.name);
}

describe("ToolSearch with embeddings", () => {
  it("finds by meaning what has none of the words", async () => {
    expect(await search({}, "wet weather")).toEqual([]);
    expect((await search({ embeddings: new TopicEmbeddings() }, "wet weather"))[0]).toBe("rain");
  });

  it("combines both ranks: the best of both is first", async () => {
    const names = await search({ embeddings: new TopicEmbeddings() }, "wet music");
    expect(names[0]).toBe("song");
    expect(names[1]).toBe("rain");
  });

  it("ranks by words if the embeddings fail, with a warning", async () => {
    const warnings: string[] = [];
    const embeddings = {
      embedQuery: async () => {
        throw new Error("no quota");
      },
      embedDocuments: async () => [],
    };
    expect(await search({ embeddings }, "music", (message) => warnings.push(message))).toEqual(["song"]);
    expect(warnings).toEqual([expect.stringContaining("no quota")]);
  });

  it("reuses the vectors of a store in another search", async () => {
    const store = memoryStore();
    const [first, second] = [new TopicEmbeddings(), new TopicEmbeddings()];
    await search({ embeddings: first, store }, "wet weather");
    const names = await search({ embeddings: second, store }, "wet weather");
    expect([first.embedded.length, second.embedded.length, names[0]]).toEqual([3, 0, "rain"]);
  });

  it("embeds only the tools that are new", async () => {
    const embeddings = new TopicEmbeddings();
    const toolSearch = new ToolSearch({ embeddings });
    await using before = await openTools();
    await using after = await openTools({ ...DESCRIPTIONS, umbrella: "Sells an umbrella." });
    await toolSearch.search({ query: "wet", tools: before.tools });
    await toolSearch.search({ query: "wet", tools: after.tools });
    expect(embeddings.embedded).toHaveLength(4);
    expect(embeddings.embedded[3]).toContain("Sells an umbrella.");
  });

  it("does not wait for a store that hangs", { timeout: 30_000 }, async () => {
    const gate = deferred();
    const hanging = { get: () => gate.promise, set: () => gate.promise } as unknown as KeyValueStore;
    let reads = 0;
    const store = { ...hanging, get: () => (reads++, gate.promise) } as unknown as KeyValueStore;
    const embeddings = new TopicEmbeddings();
    const many = Object.fromEntries(times(100, (index) => [`tool_${index}`, `Thing ${index}.`]));
    await using office = await openTools({ ...many, ...DESCRIPTIONS });
    const toolSearch = new ToolSearch({ embeddings, store });
    const { hits } = await toolSearch.search({ query: "wet weather", tools: office.tools });
    expect([hits[0]?.tool.mcp.name, embeddings.embedded.length]).toEqual(["rain", 103]);
    // Only the first batch: each would wait until it times out.
    expect(reads).toBe(16);
  });
});

/** Dispose them before servers are closed, which takes real time. */
function useFakeTimers(): Disposable {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  return { [Symbol.dispose]: () => void vi.useRealTimers() };
}

/** Searches for the time that is given, by a clock of the test, and returns the names that were found. */
async function searchFor(toolSearch: ToolSearch, ms: number, query: string, tools: readonly McpTool[]) {
  const searching = toolSearch.search({ query, tools });
  await vi.advanceTimersByTimeAsync(ms);
  const { hits } = await searching;
  return hits.map(({ tool }) => tool.mcp.name);
}

describe("a function that ToolSearch waits for", () => {
  const never = () => new Promise<never>(() => undefined);

  it.each([
    ["embedQuery", 5_000, { embeddings: { embedQuery: never, embedDocuments: never } }],
    ["embedDocuments", 5_000, { embeddings: { embedQuery: async () => [1], embedDocuments: never } }],
    ["rerank", 20_000, { rerank: never }],
  ])(
    "and that never settles, is not used for a while, with one warning: %s",
    async (_, timeoutMs, options) => {
      const warnings: string[] = [];
      await using office = await openTools();
      using _timers = useFakeTimers();
      const toolSearch = new ToolSearch(options, (message) => warnings.push(message));
      const found = await Promise.all([
        searchFor(toolSearch, timeoutMs, "music", office.tools),
        searchFor(toolSearch, 0, "bill", office.tools),
      ]);
      expect(found).toEqual([["song"], ["invoice"]]);
      expect(await searchFor(toolSearch, 0, "music", office.tools)).toEqual(["song"]);
      expect(warnings).toEqual([expect.stringContaining(`did not settle within ${timeoutMs} ms`)]);
      await vi.advanceTimersByTimeAsync(600_000);
      expect(await searchFor(toolSearch, timeoutMs, "music", office.tools)).toEqual(["song"]);
      expect(warnings).toHaveLength(2);
    },
  );

  it("is not called again while a call that took too long still runs", async () => {
    const slow = {
      calls: 0,
      embedQuery: async () => [1, 0.1, 0.1],
      async embedDocuments(texts: string[]) {
        this.calls += 1;
        await new Promise((resolve) => setTimeout(resolve, 75_000));
        return texts.map(() => [1, 0.1, 0.1]);
      },
    };
    await using office = await openTools();
    using _timers = useFakeTimers();
    const toolSearch = new ToolSearch({ embeddings: slow });
    for (const ms of [5_000, 31_000, 31_000]) await searchFor(toolSearch, ms, "music", office.tools);
    expect(slow.calls).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await searchFor(toolSearch, 0, "nothing else", office.tools)).toHaveLength(3);
    expect(slow.calls).toBe(1);
  });

  it("is used after the pause, with vectors that came too late", async () => {
    const embeddings = new TopicEmbeddings();
    const gate = deferred();
    let calls = 0;
    const slow = {
      embedQuery: (text: string) => embeddings.embedQuery(text),
      embedDocuments: async (texts: string[]) => {
        calls += 1;
        await gate.promise;
        return embeddings.embedDocuments(texts);
      },
    };
    await using office = await openTools();
    using _timers = useFakeTimers();
    const toolSearch = new ToolSearch({ embeddings: slow });
    expect(await searchFor(toolSearch, 5_000, "wet weather", office.tools)).toEqual([]);
    gate.resolve();
    await vi.advanceTimersByTimeAsync(30_000);
    const [first] = await searchFor(toolSearch, 0, "wet weather", office.tools);
    expect([first, calls]).toEqual(["rain", 1]);
  });
});

describe("vectors that cannot be compared", () => {
  const valid = [1, 0.1, 0.1];

  it.each<[string, unknown, (texts: string[]) => unknown]>([
    ["a query that is no vector", "nope", (texts) => texts.map(() => valid)],
    ["a query with NaN", [Number.NaN, 1, 1], (texts) => texts.map(() => valid)],
    ["no array", valid, () => ({})],
    ["too few", valid, () => [valid]],
    ["null", valid, (texts) => texts.map((_, index) => (index === 0 ? null : valid))],
    ["undefined", valid, (texts) => texts.map((_, index) => (index === 0 ? undefined : valid))],
    ["empty", valid, (texts) => texts.map(() => [])],
    ["with Infinity", valid, (texts) => texts.map(() => [1, Number.POSITIVE_INFINITY, 1])],
    ["of another length", valid, (texts) => texts.map(() => [1, 1])],
  ])("are not kept, and tools are ranked by words: %s", async (_, queryVector, embedDocuments) => {
    const warnings: string[] = [];
    const topics = new TopicEmbeddings();
    let isValid = false;
    const embeddings = {
      embedQuery: async (text: string) => (isValid ? topics.embedQuery(text) : (queryVector as number[])),
      embedDocuments: async (texts: string[]) =>
        isValid ? topics.embedDocuments(texts) : (embedDocuments(texts) as number[][]),
    };
    const store = memoryStore();
    await using office = await openTools();
    const toolSearch = new ToolSearch({ embeddings, store }, (message) => warnings.push(message));
    const find = async (query: string) => {
      const { hits } = await toolSearch.search({ query, tools: office.tools });
      return hits.map(({ tool }) => tool.mcp.name);
    };
    expect(await find("music")).toEqual(["song"]);
    expect(warnings).toEqual([expect.stringContaining("ranked by words alone")]);
    expect(await store.list("")).toEqual([]);
    isValid = true;
    expect((await find("wet weather"))[0]).toBe("rain");
  });

  it("in a store, of another length, are made again", async () => {
    const embeddings = new TopicEmbeddings();
    const store = { ...memoryStore(), get: async () => [1, 2], set: async () => undefined };
    expect((await search({ embeddings, store: store as unknown as KeyValueStore }, "wet weather"))[0]).toBe(
      "rain",
    );
    expect(embeddings.embedded).toHaveLength(3);
  });

  it("because their squares exceed all numbers, count as not similar", async () => {
    const embeddings = {
      embedQuery: async () => [1e200, 1],
      embedDocuments: async (texts: string[]) => texts.map(() => [1e308, 1]),
    };
    expect((await search({ embeddings }, "music"))[0]).toBe("song");
  });
});

describe("ToolSearch with rerank", () => {
  it("uses the order of rerank; names that are missing follow, unknown and repeated ones are ignored", async () => {
    const rerank = vi.fn(() => ["office__song", "office__other", "office__song"]);
    expect(await search({ rerank }, "bill music")).toContain("song");
    expect((await search({ rerank }, "bill finds music"))[0]).toBe("song");
    expect((await search({ rerank }, "bill finds music")).toSorted()).toEqual(["invoice", "song"]);
    expect(rerank).toHaveBeenLastCalledWith("bill finds music", [
      { name: "office__invoice", description: "Finds a bill.", server: "office" },
      { name: "office__song", description: "Plays music.", server: "office" },
    ]);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no model"))],
    ["returns no array", () => undefined as never],
  ])("keeps the order by words if it %s, with a warning", async (_, rerank) => {
    const warnings: string[] = [];
    expect(await search({ rerank }, "music", (message) => warnings.push(message))).toEqual(["song"]);
    expect(warnings).toEqual([expect.stringContaining("rerank failed")]);
  });
});

describe("the index of ToolSearch", () => {
  it("adds only what a change of the tools brought", async () => {
    const add = vi.spyOn(SearchIndex.prototype, "add");
    await using office = await openTools();
    await office.server.waitFor("GET");
    const toolSearch = new ToolSearch();
    const find = async (query: string) => {
      add.mockClear();
      const { hits } = await toolSearch.search({ query, tools: office.mcp.tools });
      return { found: hits.map(({ tool }) => tool.mcp.name), added: add.mock.calls.length };
    };
    expect(await find("music")).toEqual({ found: ["song"], added: 3 });
    expect(await find("bill")).toEqual({ found: ["invoice"], added: 0 });
    office.server.tools = [
      ...Object.entries({ ...DESCRIPTIONS, song: "Plays a melody." }).map(createTool),
      createTool(["umbrella", "Sells protection."]),
    ];
    await emitUntil(
      () => office.server.notifyToolsChanged(),
      () => office.mcp.tools.length === 4,
    );
    expect(await find("melody")).toEqual({ found: ["song"], added: 2 });
    expect(await find("music")).toEqual({ found: [], added: 0 });
    add.mockRestore();
  });
});
