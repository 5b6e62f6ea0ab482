import { tool } from "@langchain/core/tools";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { fakeModel } from "@langchain/core/testing";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent, type McpToolset } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/langgraph.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { type Agent, doors, question, scripted, toolMessages } from "../../fixtures/agents.js";
import { sayUntil } from "../../fixtures/clients.js";
import { ERAS, startEraServer, type ServedEra } from "../../fixtures/era-server.js";

const early: TestTool = { name: "early", run: () => "early ran" };
const late: TestTool = { name: "late", run: () => "late ran" };
const changed: TestTool = {
  ...early,
  description: "Another one now.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: ({ city }) => `early in ${String(city)}`,
};

async function setUp(tools: readonly TestTool[], era: ServedEra = "legacy") {
  const server = await startEraServer(era, { tools });
  const mcp: McpToolset = await createMcpTools({ srv: { url: server.url } });
  return {
    server,
    mcp,
    /** The server has other tools now, and says so. A door listens: that is what keeps the stream open. */
    async offer(...now: readonly TestTool[]) {
      await server.listenedTo();
      server.tools = now;
      const isShown = () =>
        mcp.tools.length === now.length && mcp.tools.every(({ description }, n) => isOf(now[n], description));
      await sayUntil(() => server.notifyToolsChanged(), isShown);
    },
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await server.close();
    },
  };
}

function isOf(made: TestTool | undefined, description: string): boolean {
  return made?.description === undefined || made.description === description;
}

/** Remembers which tools a model was given, turn by turn. */
function watching(model: ReturnType<typeof fakeModel>) {
  const given: { name: string; description: string; schema: unknown }[][] = [];
  const bindTools = model.bindTools.bind(model);
  model.bindTools = (tools) => {
    given.push(tools.map(({ name, description = "", schema }) => ({ name, description, schema }) as never));
    return bindTools(tools);
  };
  return { model, given };
}

describe.each(Object.entries(doors))("in %s", (_, open) => {
  it.each(ERAS)("a tool that arrives later is shown to the model, and runs (%s)", async (era) => {
    await using story = await setUp([early], era);
    const { model, given } = watching(scripted([{ name: "srv__late", args: {} }]));
    const agent = open({ model, mcp: story.mcp });
    await story.offer(early, late);
    const done = await agent.invoke(question);
    expect(given[0]?.map(({ name }) => name)).toEqual(["srv__early", "srv__late"]);
    expect(toolMessages(done)).toMatchObject([{ content: "late ran", status: "success" }]);
  });

  it("a tool that has changed is shown and called as it is now", async () => {
    await using story = await setUp([early]);
    const calls = [{ name: "srv__early", args: {} }];
    const { model, given } = watching(scripted(calls, [{ name: "srv__early", args: { city: "Oslo" } }]));
    const agent = open({ model, mcp: story.mcp });
    await story.offer(changed);
    const done = await agent.invoke(question);
    expect(given[0]).toMatchObject([
      { name: "srv__early", description: "Another one now.", schema: { required: ["city"] } },
    ]);
    expect(toolMessages(done)).toMatchObject([
      { status: "error", artifact: { error: { kind: "invalid-request" } } },
      { content: "early in Oslo", status: "success" },
    ]);
  });

  it("a tool that is gone is not shown, and a call of it is told so", async () => {
    await using story = await setUp([early, late]);
    const { model, given } = watching(scripted([{ name: "srv__late", args: {} }]));
    const agent = open({ model, mcp: story.mcp });
    await story.offer(early);
    const done = await agent.invoke(question);
    expect(given[0]?.map(({ name }) => name)).toEqual(["srv__early"]);
    expect(toolMessages(done)).toMatchObject([
      { status: "error", name: "srv__late", artifact: { error: { kind: "not-found" } } },
    ]);
    expect(story.server.executions).toEqual([]);
  });

  it("a tool nobody ever had is told as the framework tells it", async () => {
    await using story = await setUp([early]);
    const done = await open({ model: scripted([{ name: "srv__none", args: {} }]), mcp: story.mcp }).invoke(
      question,
    );
    expect(toolMessages(done)).toMatchObject([{ status: "error" }]);
  });
});

describe("mcpMiddleware", () => {
  const other = tool(() => "other ran", { name: "other", description: "Not of MCP." });

  it("leaves other tools, and tools that somebody left out, as they are", async () => {
    await using story = await setUp([early, late]);
    const onlyEarly = createMiddleware({
      name: "select",
      wrapModelCall: (request, handler) =>
        handler({
          ...request,
          tools: request.tools.filter((given) => Reflect.get(given, "name") !== "srv__late"),
        }),
    });
    const { model, given } = watching(scripted([{ name: "other", args: {} }]) as never);
    const agent = createAgent({
      model,
      tools: [other, ...story.mcp.tools],
      middleware: [onlyEarly, mcpMiddleware(story.mcp)],
    }) as unknown as Agent;
    const { messages } = await agent.invoke(question);
    expect(given[0]?.map(({ name }) => name)).toEqual(["other", "srv__early"]);
    expect(messages.map((message: BaseMessage) => message.text)).toContain("other ran");
  });

  it("may be there once for each toolset", async () => {
    await using one = await setUp([early]);
    await using two = await setUp([]);
    const agent = createAgent({
      model: scripted([{ name: "srv__late", args: {} }]),
      tools: one.mcp.tools,
      middleware: [mcpMiddleware(one.mcp), mcpMiddleware(two.mcp, { name: "second" })],
    }) as unknown as Agent;
    await two.offer(late);
    expect(toolMessages(await agent.invoke(question))).toMatchObject([{ content: "late ran" }]);
  });
});

describe("McpToolNode", () => {
  it("sends nothing where an agent has its tools already, and neither does mcpMiddleware", async () => {
    await using server = await startMcpTestServer({ tools: [early] });
    const availableTools = [{ name: "early", description: "", inputSchema: { type: "object" } }];
    const agent = { resources: [{ $resourceType: "mcp", name: "srv", availableTools }] };
    await using mcp = await createMcpToolsFromAgent(agent, { servers: { srv: { url: server.url } } });
    mcpMiddleware(mcp);
    expect(new McpToolNode(mcp).tools).toHaveLength(1);
    expect(server.requests).toEqual([]);
    await mcp.callTool({ name: "early" });
    expect(server.requests[0]?.method).toBe("initialize");
    expect(server.executions).toHaveLength(1);
  });

  it("takes the tools of some servers, and tools of other kinds", async () => {
    await using server = await startMcpTestServer({ tools: [early] });
    await using mcp = await createMcpTools({ a: { url: server.url }, b: { url: server.url } });
    const other = tool(() => "other ran", { name: "other", description: "Not of MCP." });
    const node = new McpToolNode(mcp, { servers: ["b"], tools: [other], name: "mine" });
    expect(node.name).toBe("mine");
    expect(node.tools.map(({ name }) => name)).toEqual(["b__early", "other"]);
    const asked = new AIMessage({
      content: "",
      tool_calls: [
        { name: "other", args: {}, id: "1" },
        { name: "b__early", args: {}, id: "2" },
      ],
    });
    const { messages } = await node.invoke({ messages: [asked] });
    expect(messages.map(({ text }) => text)).toEqual(["other ran", "early ran"]);
  });
});
