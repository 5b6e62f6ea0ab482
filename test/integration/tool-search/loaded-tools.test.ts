import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Annotation, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { loadedToolsState, McpToolNode } from "../../../src/langchain/langgraph.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { type Agent, getToolMessages, threadConfig, userInput } from "../../fixtures/agents.js";
import { emitUntil } from "../../fixtures/clients.js";
import { createRecordingModel, searchingAgents } from "../../fixtures/searching-agents.js";
import { openCatalog } from "../../fixtures/tool-catalog.js";
import { startToolset } from "../../fixtures/toolsets.js";

const search = (query: string) => ({ name: "search_tools", args: { query } });
const load = (...names: string[]) => ({ name: "load_tools", args: { names } });
const OWN = ["search_tools", "load_tools"];
const integrations = Object.entries(searchingAgents);

const read: TestTool = { name: "read_page", description: "Reads a page.", run: () => "read ran" };
const plans = (user: string): TestTool => ({
  name: `plans_of_${user}`,
  description: `Shows the plans of ${user}.`,
  run: () => `plans of ${user}`,
});

/** A server that offers each user a tool of their own, by their credential. */
async function startUserServer(): Promise<McpTestServer> {
  const server: McpTestServer = await startMcpTestServer({
    tools: [read],
    intercept: async ({ request }) => {
      const user = /of-(\w+)/.exec(request.headers.authorization ?? "")?.[1] ?? "catalog";
      server.tools = user === "catalog" ? [read] : [read, plans(user)];
      return false;
    },
  });
  return server;
}

describe.each(integrations.slice(0, 3))("users of one server in %s", (_, createSearchingAgent) => {
  it("find, load and call their own tools, and never those of others", async () => {
    await using server = await startUserServer();
    const identity = ({ configurable }: { readonly configurable?: Record<string, unknown> }) =>
      String(configurable?.["user"] ?? "catalog");
    await using mcp = await createMcpTools({
      crm: { url: server.url, identity, auth: (context) => `of-${identity(context)}` },
    });
    for (const [user, other] of [
      ["ann", "bob"],
      ["bob", "ann"],
    ] as const) {
      const { model, names } = createRecordingModel(
        search(`plans of ${other}`),
        load(`crm__plans_of_${user}`, `crm__plans_of_${other}`),
        { name: `crm__plans_of_${user}`, args: {} },
        { name: `crm__plans_of_${other}`, args: {} },
      );
      const agent = createSearchingAgent({ model, mcp, disclosure: "search" });
      const result = await agent.invoke(userInput, { configurable: { user } });
      const [found, loaded, own, foreign] = getToolMessages(result).map(({ text }) => text);
      expect(found).toContain(`crm__plans_of_${user}`);
      expect(found).not.toContain(other);
      expect(loaded).toContain(`Loaded: crm__plans_of_${user}. `);
      expect(loaded).toContain(`There is no tool "crm__plans_of_${other}".`);
      expect([own, foreign?.includes("plans of")]).toEqual([`plans of ${user}`, false]);
      expect(names().at(-1)).toEqual([...OWN, `crm__plans_of_${user}`]);
    }
  });
});

describe.each(integrations)("loaded tools in %s", (_, createSearchingAgent) => {
  it("of parallel calls are all there, once and in order", async () => {
    await using mcp = await openCatalog();
    const { model: recorded, names } = createRecordingModel();
    const model = fakeModel()
      .respond(
        new AIMessage({
          content: "",
          tool_calls: [
            { ...load("songs__find_song", "papers__find_paper"), id: "1" },
            { ...load("papers__find_paper", "flights__find_flight"), id: "2" },
          ],
        }),
      )
      .respond(new AIMessage("done"));
    const bindTools = model.bindTools.bind(model);
    model.bindTools = (tools) => {
      recorded.bindTools(tools);
      return bindTools(tools);
    };
    await createSearchingAgent({ model, mcp, disclosure: "search" }).invoke(userInput);
    expect(names().at(-1)).toEqual([
      ...OWN,
      "songs__find_song",
      "papers__find_paper",
      "flights__find_flight",
    ]);
  });

  it("with shareOfContext, all are shown while they fit the model's context", async () => {
    await using mcp = await openCatalog();
    const show = async (maxInputTokens: number) => {
      const { model, names } = createRecordingModel();
      Object.defineProperty(model, "profile", { value: { maxInputTokens } });
      const disclosure = { mode: "auto", shareOfContext: 0.1 } as const;
      await createSearchingAgent({ model, mcp, disclosure }).invoke(userInput);
      return names()[0]?.length;
    };
    const { tokens } = mcp.tokenCosts();
    expect(await show(tokens * 10 + 10)).toBe(mcp.tools.length);
    expect(await show(tokens * 10 - 10)).toBe(2);
  });
});

describe("a tool that is new while an agent runs", () => {
  it.each(integrations.slice(0, 3))("is found, loaded and called in %s", async (_, createSearchingAgent) => {
    await using fixture = await startToolset({ tools: [read] });
    const { mcp, server } = fixture;
    await server.waitForListener();
    const { model, names } = createRecordingModel(
      { name: "srv__read_page", args: {} },
      search("plans"),
      load("srv__plans_of_ann"),
      { name: "srv__plans_of_ann", args: {} },
    );
    server.tools = [
      {
        ...read,
        run: async () => {
          server.tools = [read, plans("ann")];
          await emitUntil(
            () => server.notifyToolsChanged(),
            () => mcp.tools.length === 2,
          );
          return "read ran";
        },
      },
    ];
    const agent = createSearchingAgent({ model, mcp, disclosure: "search" });
    const result = await agent.invoke(userInput);
    const texts = getToolMessages(result).map(({ text }) => text);
    expect(texts[1]).toContain("srv__plans_of_ann");
    expect(texts.slice(2)).toEqual(["Loaded: srv__plans_of_ann. Call them now.", "plans of ann"]);
    expect(names().at(-1)).toEqual([...OWN, "srv__read_page", "srv__plans_of_ann"]);
  });
});

describe("a trimmed history", () => {
  /** Runs a turn that loads a tool, removes all messages, and returns the names in the next turn. */
  async function runTrimmed(createGraph: (tools: McpToolNode, model: never) => Agent): Promise<string[]> {
    await using mcp = await openCatalog();
    const { model, names } = createRecordingModel(load("songs__find_song"));
    const graph = createGraph(new McpToolNode(mcp, { disclosure: "search" }), model as never);
    const { messages } = await graph.invoke(userInput, threadConfig("1"));
    model.respond(new AIMessage("done"));
    const removed = messages.map(({ id }) => new RemoveMessage({ id: id ?? "" }));
    await graph.invoke({ messages: [...removed, new HumanMessage("Go on.")] }, threadConfig("1"));
    return names().at(-1) ?? [];
  }
  const createGraph = (channels: object) => (tools: McpToolNode, model: never) =>
    new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...channels }))
      .addNode("model", async (state, config) => ({
        messages: [
          await (model as { bindTools(tools: unknown): { invoke(input: unknown): Promise<AIMessage> } })
            .bindTools(await tools.selectTools(state as never, config))
            .invoke(state.messages),
        ],
      }))
      .addNode("tools", tools)
      .addEdge("__start__", "model")
      .addConditionalEdges("model", ({ messages }) =>
        (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__",
      )
      .addEdge("tools", "model")
      .compile({ checkpointer: new MemorySaver() }) as unknown as Agent;

  it("keeps what is loaded if the graph has the channel", async () => {
    expect(await runTrimmed(createGraph(loadedToolsState))).toEqual([...OWN, "songs__find_song"]);
  });

  it("without the channel, what is loaded goes with its messages", async () => {
    expect(await runTrimmed(createGraph({}))).toEqual(OWN);
  });

  it("of a subgraph that shares the channel: its parent has what it loaded", async () => {
    expect(await runTrimmed(createParent)).toEqual([...OWN, "songs__find_song"]);
  });

  const createParent = (tools: McpToolNode, model: never) =>
    new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...loadedToolsState }))
      .addNode("child", createGraph(loadedToolsState)(tools, model) as never)
      .addEdge("__start__", "child")
      .addEdge("child", "__end__")
      .compile({ checkpointer: new MemorySaver() }) as unknown as Agent;
});

describe('disclosure: "all"', () => {
  it("gives the same definitions and requests as without the option", async () => {
    const run = async (options: object) => {
      await using fixture = await startToolset({ tools: [read, plans("ann")] });
      const { mcp, server } = fixture;
      const { model, bound } = createRecordingModel({ name: "srv__read_page", args: {} });
      const states: string[] = [];
      const middleware = [
        mcpMiddleware(mcp, options),
        createMiddleware({
          name: "keys",
          afterModel: (state) => {
            states.push(...Object.keys(state).toSorted());
          },
        }),
      ];
      await (createAgent({ model, tools: mcp.tools, middleware }) as unknown as Agent).invoke(userInput);
      return { bound, states, requests: server.requests.map(({ method }) => String(method)).toSorted() };
    };
    const [without, all] = [await run({}), await run({ disclosure: "all" })];
    expect(all).toEqual(without);
    expect(all.states).not.toContain("mcpLoadedTools");
  });
});
