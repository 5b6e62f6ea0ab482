import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { estimateTokens } from "../../../src/tool-search/estimate-tokens.js";
import { getToolMessages, resumeWith, threadConfig, userInput } from "../../fixtures/agents.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { createRecordingModel, searchingAgents } from "../../fixtures/searching-agents.js";
import { createCatalog, openCatalog, serveCatalog } from "../../fixtures/tool-catalog.js";
import { FileSaver } from "../../fixtures/file-saver.js";
import { resumeInOtherProcess } from "../../fixtures/resume-in-other-process.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";
import { startMcpTestServer } from "../../../src/testing/index.js";

const search = (query: string) => ({ name: "search_tools", args: { query } });
const load = (...names: string[]) => ({ name: "load_tools", args: { names } });

const THREE_TOOL_TASK = [
  search("find an invoice"),
  load("invoices__find_invoice"),
  { name: "invoices__find_invoice", args: { id: "7" } },
  search("create a customer"),
  load("customers__create_customer", "recipes__share_recipe"),
  { name: "customers__create_customer", args: { id: "8" } },
  { name: "recipes__share_recipe", args: { id: "9" } },
] as const;

describe.each(Object.keys(searchingAgents))("tool search in %s", (integration) => {
  const createSearchingAgent = searchingAgents[integration] as (typeof searchingAgents)[string];

  it("does a task with three tools of 70 servers", { timeout: 60_000 }, async () => {
    await using catalog = await serveCatalog();
    await using mcp = await createMcpTools(catalog.servers, { logger: new RecordingLogger() });
    const { model, bound, names } = createRecordingModel(...THREE_TOOL_TASK);
    const agent = createSearchingAgent({ model, mcp, disclosure: "search" });
    const result = await agent.invoke(userInput, { recursionLimit: 50 });
    const texts = getToolMessages(result).map(({ text }) => text);
    expect(texts[0]).toContain("- invoices__find_invoice: ");
    expect(texts[1]).toContain("Loaded: invoices__find_invoice");
    expect(catalog.executions()).toEqual(
      expect.arrayContaining(["find_invoice", "create_customer", "share_recipe"]),
    );
    expect(catalog.executions()).toHaveLength(3);
    expect(names()[0]).toEqual(["search_tools", "load_tools"]);
    expect(names().at(-1)).toEqual([
      "search_tools",
      "load_tools",
      "invoices__find_invoice",
      "customers__create_customer",
      "recipes__share_recipe",
    ]);
    // A provider's prompt cache stays valid: definitions are only appended.
    for (const [index, definitions] of bound.entries())
      expect(definitions.slice(0, bound[index - 1]?.length ?? 0)).toEqual(bound[index - 1] ?? []);
    const all = mcp.tokenCosts().tokens;
    const first = estimateTokens(bound[0]?.join("") ?? "");
    expect(first).toBeLessThan(all * 0.02);
  });

  it("runs a tool that was not loaded, and loads it", async () => {
    await using mcp = await openCatalog();
    const { model, names } = createRecordingModel({ name: "songs__list_song", args: { id: "1" } });
    const result = await createSearchingAgent({ model, mcp, disclosure: "search" }).invoke(userInput);
    expect(getToolMessages(result).map(({ text }) => text)).toEqual(["list song 1"]);
    expect(names().at(-1)).toEqual(["search_tools", "load_tools", "songs__list_song"]);
  });

  it("says which names do not exist, and suggests others", async () => {
    await using mcp = await openCatalog();
    const { model, names } = createRecordingModel(load("songs__list_songs", "nothing__like_this"));
    const result = await createSearchingAgent({ model, mcp, disclosure: "search" }).invoke(userInput);
    const [message] = getToolMessages(result);
    expect(message?.text).toContain('There is no tool "songs__list_songs". Did you mean "songs__list_song"?');
    expect(message?.text).toContain('There is no tool "nothing__like_this".');
    expect(names().at(-1)).toEqual(["search_tools", "load_tools"]);
  });

  it("shows all tools with `all`, and with `auto` while they fit the budget", async () => {
    await using mcp = await openCatalog();
    const all = mcp.tools.map(({ name }) => name);
    for (const disclosure of ["all", { mode: "auto", maxTokens: 1_000_000 }] as const) {
      const { model, names } = createRecordingModel();
      await createSearchingAgent({ model, mcp, disclosure }).invoke(userInput);
      expect(names()[0]).toEqual(all);
    }
    const { model, names } = createRecordingModel();
    await createSearchingAgent({ model, mcp, disclosure: "auto" }).invoke(userInput);
    expect(names()[0]).toEqual(["search_tools", "load_tools"]);
  });

  it("always shows the tools that `always` names", async () => {
    await using mcp = await openCatalog();
    const { model, names } = createRecordingModel();
    const disclosure = { mode: "search", always: ["songs__*_song"] } as const;
    await createSearchingAgent({ model, mcp, disclosure }).invoke(userInput);
    expect(names()[0]).toHaveLength(9);
    expect(names()[0]).toEqual(expect.arrayContaining(["songs__find_song", "search_tools", "load_tools"]));
  });

  it("finds only what a filter allows", async () => {
    await using mcp = await openCatalog({
      filter: (tool, { config }) => tool.mcp.server !== "songs" || config.configurable?.["role"] === "admin",
    });
    const find = async (role: string) => {
      const { model } = createRecordingModel(search("list songs"), load("songs__list_song"));
      const agent = createSearchingAgent({ model, mcp, disclosure: "search" });
      const result = await agent.invoke(userInput, { configurable: { role } });
      return getToolMessages(result).map(({ text }) => text);
    };
    const [found, loaded] = await find("admin");
    expect(found).toContain("songs__list_song");
    expect(loaded).toContain("Loaded: songs__list_song");
    const [hidden, refused] = await find("guest");
    expect(hidden).not.toContain("songs__list_song");
    expect(refused).toContain('There is no tool "songs__list_song".');
  });

  it("keeps loaded tools between turns, up to maxLoaded", async () => {
    await using mcp = await openCatalog();
    const checkpointer = new MemorySaver();
    const disclosure = { mode: "search", maxLoaded: 2 } as const;
    const first = createRecordingModel(
      load("songs__find_song", "papers__find_paper", "flights__find_flight"),
    );
    await createSearchingAgent({ model: first.model, mcp, disclosure, checkpointer }).invoke(
      userInput,
      threadConfig("1"),
    );
    expect(first.names().at(-1)).toHaveLength(5);
    const second = createRecordingModel();
    await createSearchingAgent({ model: second.model, mcp, disclosure, checkpointer }).invoke(
      { messages: [new HumanMessage("Go on.")] },
      threadConfig("1"),
    );
    expect(second.names()[0]).toEqual([
      "search_tools",
      "load_tools",
      "papers__find_paper",
      "flights__find_flight",
    ]);
  });
});

describe.each(Object.keys(searchingAgents).slice(0, 3))("approval and tool search in %s", (integration) => {
  it("pauses for approval in the middle, and loads nothing twice", async () => {
    await using mcp = await openCatalog({ tools: { "delete_*": { requireApproval: true } } });
    const checkpointer = new MemorySaver();
    const { model, names } = createRecordingModel(load("songs__delete_song"), {
      name: "songs__delete_song",
      args: { id: "3" },
    });
    const options = { model, mcp, disclosure: "search", checkpointer } as const;
    const agent = searchingAgents[integration]?.(options);
    const paused = await agent?.invoke(userInput, threadConfig("1"));
    expect(paused?.__interrupt__).toHaveLength(1);
    // Another agent, as in another process.
    const resumed = await searchingAgents[integration]?.(options).invoke(
      resumeWith({ type: "approve" }),
      threadConfig("1"),
    );
    expect(resumed === undefined ? [] : getToolMessages(resumed).map(({ text }) => text)).toEqual([
      "Loaded: songs__delete_song. Call them now.",
      "delete song 3",
    ]);
    expect(names().at(-1)).toEqual(["search_tools", "load_tools", "songs__delete_song"]);
  });
});

describe.each(Object.keys(searchingAgents).slice(0, 3))(
  "another process and tool search in %s",
  (integration) => {
    it(
      "goes on after an approval with what was loaded, and loads nothing twice",
      { timeout: 60_000 },
      async () => {
        using folder = new TemporaryFolder();
        const path = join(folder.path, "checkpoints");
        const { songs: tools = [] } = createCatalog();
        await using server = await startMcpTestServer({ tools: [...tools] });
        const servers = { songs: { url: server.url, tools: { "delete_*": { requireApproval: true } } } };
        await using mcp = await createMcpTools(servers);
        const { model } = createRecordingModel(load("songs__delete_song"), {
          name: "songs__delete_song",
          args: { id: "3" },
        });
        const checkpointer = new FileSaver(path);
        const agent = searchingAgents[integration]?.({ model, mcp, disclosure: "search", checkpointer });
        expect((await agent?.invoke(userInput, threadConfig("1")))?.__interrupt__).toHaveLength(1);
        const resume = { decisions: [{ type: "approve" }] };
        const results = await resumeInOtherProcess({ integration, isSearching: true, servers, path, resume });
        expect(results).toEqual(["Loaded: songs__delete_song. Call them now.", "delete song 3"]);
        expect(server.executions).toHaveLength(1);
      },
    );
  },
);

describe("native tool search", () => {
  it("defers the tools and adds the tool of the provider", async () => {
    await using mcp = await openCatalog();
    const { model, bound, names } = createRecordingModel();
    model.getName = () => "ChatAnthropic";
    const disclosure = { mode: "native", always: ["songs__find_song"] } as const;
    await searchingAgents["createReactAgent with McpToolNode"]?.({ model, mcp, disclosure }).invoke(
      userInput,
    );
    expect(names()[0]?.at(-1)).toBe("tool_search_tool_bm25");
    const deferred = bound[0]?.filter((tool) => tool.includes('"defer_loading":true')) ?? [];
    expect(deferred).toHaveLength(mcp.tools.length - 1);
  });

  it("falls back to search for other models, with one warning", async () => {
    const logger = new RecordingLogger();
    await using mcp = await openCatalog({ logger });
    const { model, names } = createRecordingModel(search("songs"));
    await searchingAgents["createAgent with mcpMiddleware"]?.({ model, mcp, disclosure: "native" }).invoke(
      userInput,
    );
    expect(names()[0]).toEqual(["search_tools", "load_tools"]);
    expect(
      logger.warnings.filter((text) => text.includes("does not support native tool search")),
    ).toHaveLength(1);
  });
});
