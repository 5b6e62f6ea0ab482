import type { ToolCall } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent, createMiddleware, type HITLRequest } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpTools, type McpTool, type McpToolset } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { createToolDisclosure, McpToolNode } from "../../../src/langchain/langgraph.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { createRecordingModel } from "../../fixtures/searching-agents.js";
import { startToolset } from "../../fixtures/toolsets.js";

const read: TestTool = { name: "read", description: "Reads a page.", run: () => "read ran" };
const wipe: TestTool = { name: "wipe", description: "Deletes everything.", run: () => "wipe ran" };
const tools = [read, wipe];
const search = (query: string) => ({ name: "search_tools", args: { query } });
const load = (...names: string[]) => ({ name: "load_tools", args: { names } });

async function runAgent(agent: unknown, config = {}): Promise<string[]> {
  return getToolMessages(await (agent as Agent).invoke(userInput, config)).map(({ text }) => text);
}

describe("tools that an agent was created without", () => {
  it.each(["all", "search"] as const)(
    "do not run if a model guesses their names (disclosure %s)",
    async (disclosure) => {
      await using fixture = await startToolset({ tools });
      const { mcp, server } = fixture;
      const { model } = createRecordingModel({ name: "srv__wipe", args: {} });
      const selected = mcp.tools.filter(({ name }) => name === "srv__read");
      const middleware = [mcpMiddleware(mcp, { disclosure })];
      const [text] = await runAgent(createAgent({ model, tools: selected, middleware }));
      expect(text).toContain("srv__wipe");
      expect(text).not.toContain("ran");
      expect(server.executions).toEqual([]);
    },
  );

  it.each(["all", "search"] as const)(
    "are refused before approval is requested (disclosure %s)",
    async (disclosure) => {
      await using fixture = await startToolset({ tools, rules: { "*": { requireApproval: true } } });
      const { mcp, server } = fixture;
      const { model } = createRecordingModel(
        { name: "srv__wipe", args: {} },
        { name: "srv__read", args: {} },
      );
      const selected = mcp.tools.filter(({ name }) => name === "srv__read");
      const middleware = [mcpMiddleware(mcp, { disclosure })];
      const checkpointer = new MemorySaver();
      const agent = createAgent({ model, tools: selected, middleware, checkpointer }) as unknown as Agent;
      const paused = await agent.invoke(userInput, threadConfig("1"));
      const requests = paused.__interrupt__?.map(({ value }) => value as HITLRequest);
      expect(requests?.map(({ actionRequests }) => actionRequests.map(({ name }) => name))).toEqual([
        ["srv__read"],
      ]);
      const [wiped, ran] = getToolMessages(
        await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1")),
      );
      expect([wiped?.text, ran?.text]).toEqual([expect.stringContaining("srv__wipe"), "read ran"]);
      expect(server.executions.map(({ tool }) => tool)).toEqual(["read"]);
    },
  );
});

describe("agents that share a middleware", () => {
  const createPair = (
    mcp: McpToolset,
    disclosure: "all" | "search",
    ...calls: readonly Omit<ToolCall, "id">[]
  ) => {
    const middleware = [mcpMiddleware(mcp, { disclosure })];
    const open = (selected: McpTool[], ...script: readonly Omit<ToolCall, "id">[]) =>
      createAgent({ model: createRecordingModel(...script).model, tools: selected, middleware });
    const selected = mcp.tools.filter(({ name }) => name === "srv__read");
    return {
      whole: open([...mcp.tools], { name: "srv__read", args: {} }),
      limited: open(selected, ...calls),
    };
  };

  it.each(["all", "search"] as const)(
    "do not run the tools that only the other one was created with (disclosure %s)",
    async (disclosure) => {
      await using fixture = await startToolset({ tools });
      const { mcp, server } = fixture;
      const { whole, limited } = createPair(mcp, disclosure, { name: "srv__wipe", args: {} });
      expect(await runAgent(whole)).toEqual(["read ran"]);
      const [text] = await runAgent(limited);
      expect(text).toContain("srv__wipe");
      expect(text).not.toContain("ran");
      expect(server.executions.map(({ tool }) => tool)).toEqual(["read"]);
    },
  );

  it("do not find or load them", async () => {
    await using fixture = await startToolset({ tools });
    const { whole, limited } = createPair(
      fixture.mcp,
      "search",
      search("delete everything"),
      load("srv__wipe"),
      load("srv__read"),
    );
    await runAgent(whole);
    const [found, missing, loaded] = await runAgent(limited);
    expect(found).not.toContain("srv__wipe");
    expect(missing).toContain('There is no tool "srv__wipe"');
    expect(loaded).toContain("Loaded: srv__read");
  });

  it("do not run them in a run that is resumed, after an agent without tools of the toolset has run", async () => {
    await using fixture = await startToolset({ tools, rules: { "*": { requireApproval: true } } });
    const { mcp, server } = fixture;
    const checkpointer = new MemorySaver();
    const open = (names: readonly string[], call: Omit<ToolCall, "id">, middleware: AgentMiddleware) =>
      createAgent({
        model: createRecordingModel(call).model,
        tools: mcp.tools.filter(({ name }) => names.includes(name)),
        middleware: [middleware],
        checkpointer,
      }) as unknown as Agent;
    const wipeCall = { name: "srv__wipe", args: {} };
    const both = open(["srv__read", "srv__wipe"], wipeCall, mcpMiddleware(mcp, { disclosure: "search" }));
    await both.invoke(userInput, threadConfig("1"));
    const shared = mcpMiddleware(mcp, { disclosure: "search" });
    await open([], search("read"), shared).invoke(userInput, threadConfig("2"));
    const limited = open(["srv__read"], wipeCall, shared);
    await limited.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expect(server.executions).toEqual([]);
  });
});

describe("a call of a tool that an agent was created without", () => {
  it.each(["the same agent", "an agent that has not called its model yet"])(
    "does not change which decisions %s expects",
    async (resumedBy) => {
      await using fixture = await startToolset({ tools, rules: { "*": { requireApproval: true } } });
      const { mcp, server } = fixture;
      const checkpointer = new MemorySaver();
      const open = () =>
        createAgent({
          model: createScriptedModel([
            { name: "srv__wipe", args: {} },
            { name: "srv__read", args: {} },
          ]),
          tools: mcp.tools.filter(({ name }) => name === "srv__read"),
          middleware: [mcpMiddleware(mcp)],
          checkpointer,
        }) as unknown as Agent;
      const agent = open();
      await agent.invoke(userInput, threadConfig("1"));
      const resumed = resumedBy === "the same agent" ? agent : open();
      const done = await resumed.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
      expect(done.__interrupt__).toBeUndefined();
      expect(server.executions.map(({ tool }) => tool)).toEqual(["read"]);
    },
  );
});

describe("a run that is resumed by an agent that has not called its model yet", () => {
  const rules = { wipe: { requireApproval: true } };

  it.each([
    ["does not call a tool that the agent was created without", ["srv__read", "srv__wipe"], ["srv__read"], 0],
    ["calls a tool that an agent without tools has found", [], [], 1],
  ] as const)("%s", async (_, selected, selectedLater, executions) => {
    await using fixture = await startToolset({ tools, rules });
    const { mcp, server } = fixture;
    const checkpointer = new MemorySaver();
    const { model } = createRecordingModel({ name: "srv__wipe", args: {} });
    const createTestAgent = (names: readonly string[]) =>
      createAgent({
        model,
        tools: mcp.tools.filter(({ name }) => names.includes(name)),
        middleware: [mcpMiddleware(mcp, { disclosure: "search" })],
        checkpointer,
      }) as unknown as Agent;
    const paused = await createTestAgent(selected).invoke(userInput, threadConfig("1"));
    expect(paused.__interrupt__).toHaveLength(1);
    await createTestAgent(selectedLater).invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expect(server.executions).toHaveLength(executions);
  });
});

describe("tool search", () => {
  it("does not keep long instructions of a server for each of its tools", async () => {
    const many = times(200, (index) => ({ ...read, name: `read_${index}` }));
    await using server = await startMcpTestServer({ tools: many, instructions: "word ".repeat(100_000) });
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const middleware = [mcpMiddleware(mcp, { disclosure: "search" })];
    const run = async (query: string) =>
      runAgent(
        createAgent({ model: createRecordingModel(search(query)).model, tools: mcp.tools, middleware }),
      );
    collectGarbage();
    const { heapUsed } = process.memoryUsage();
    expect(await run("word")).toEqual([expect.stringContaining("srv__read_")]);
    collectGarbage();
    // With all of it, the index would take 100 MB.
    expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(50_000_000);
  });

  it("of one caller does not depend on the runs of others", async () => {
    await using fixture = await startToolset({
      tools,
      options: {
        filter: ({ mcp }, { config }) => mcp.name === "read" || config.configurable?.["role"] === "admin",
      },
    });
    const { mcp } = fixture;
    const middleware = mcpMiddleware(mcp, { disclosure: "search" });
    const runGuest = async () => {
      const { model } = createRecordingModel();
      await runAgent(createAgent({ model, tools: mcp.tools, middleware: [middleware] }), {
        configurable: { role: "guest" },
      });
    };
    const { model } = createRecordingModel(search("delete everything"), load("srv__wipe"));
    const between = createMiddleware({ name: "between", afterModel: runGuest });
    const agent = createAgent({ model, tools: mcp.tools, middleware: [middleware, between] });
    const [found, loaded] = await runAgent(agent, { configurable: { role: "admin" } });
    expect(found).toContain("srv__wipe");
    expect(loaded).toContain("Loaded: srv__wipe");
  });

  it("goes on with the shared tools while the server of a caller cannot be listed", async () => {
    await using shared = await startMcpTestServer({ tools });
    await using down = await startMcpTestServer();
    down.addFault({ type: "status", status: 500 }, {});
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools(
      {
        srv: { url: shared.url },
        own: { url: down.url, lazy: true, identity: ({ configurable }) => String(configurable?.["user"]) },
      },
      { logger },
    );
    const { model } = createRecordingModel(search("read a page"));
    const middleware = [mcpMiddleware(mcp, { disclosure: "search" })];
    const agent = createAgent({ model, tools: mcp.tools, middleware });
    const [found] = await runAgent(agent, { configurable: { user: "ann" } });
    expect(found).toContain("srv__read");
    expect(logger.warnings.join("\n")).toContain("The tools of a caller could not be listed");
  });

  it.each(["constructor", "__proto__"])("works with a server named %s", async (name) => {
    await using server = await startMcpTestServer({ tools });
    await using mcp = await createMcpTools({ [name]: { url: server.url } });
    const disclosure = createToolDisclosure(mcp, "search");
    expect(await disclosure.selectTools([])).toHaveLength(2);
    expect(await disclosure.tools[0]?.invoke({ query: "read a page" })).toContain(`${name}__read`);
  });

  it("does not find a tool by an argument that a rule has hidden since the last search", async () => {
    await using server = await startMcpTestServer({
      tools: [{ ...read, inputSchema: { type: "object", properties: { tenant: { type: "string" } } } }, wipe],
    });
    let isHidden = false;
    await using mcp = await createMcpTools(
      { srv: { url: server.url } },
      { tools: ({ name }) => (isHidden && name === "read" ? { args: { tenant: "t1" } } : true) },
    );
    const find = () => createTool.invoke({ query: "tenant" }) as Promise<string>;
    const createTool = createToolDisclosure(mcp, "search").tools[0] as { invoke(args: object): unknown };
    expect(await find()).toContain("srv__read");
    isHidden = true;
    server.tools = [...server.tools, { name: "other", run: () => "" }];
    await mcp.refresh();
    expect(await find()).toContain("No tool matches");
  });

  it("keeps its own tools when a server has tools of the same names", async () => {
    const logger = new RecordingLogger();
    const names = ["search_tools", "load_tools"].map((name): TestTool => ({ name, run: () => "hijacked" }));
    await using fixture = await startToolset({
      tools: [...tools, ...names],
      options: { naming: { prefix: false }, logger },
    });
    const { mcp } = fixture;
    const { model, names: shown } = createRecordingModel(search("read a page"), load("read"));
    const middleware = [mcpMiddleware(mcp, { disclosure: "search" })];
    const texts = await runAgent(createAgent({ model, tools: mcp.tools, middleware }));
    expect(texts[0]).toContain("- read: Reads a page.");
    expect(shown().at(-1)).toEqual(["search_tools", "load_tools", "read"]);
    expect(logger.warnings.filter((text) => text.includes("is not offered"))).toHaveLength(1);
    const node = new McpToolNode(mcp, { disclosure: "search" });
    expect(node.tools.filter(({ name }) => name === "search_tools")).toHaveLength(1);
  });
});
