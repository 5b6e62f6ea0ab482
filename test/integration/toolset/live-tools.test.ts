import { tool } from "@langchain/core/tools";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { fakeModel } from "@langchain/core/testing";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent, type McpToolset } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import {
  type Agent,
  agentIntegrations,
  userInput,
  createScriptedModel,
  getToolMessages,
} from "../../fixtures/agents.js";
import { emitUntil, times } from "../../fixtures/clients.js";
import { collectGarbage } from "../../fixtures/collect-garbage.js";
import { ERAS } from "../../fixtures/era-server.js";
import { startToolset, type TestToolset } from "../../fixtures/toolsets.js";

const early: TestTool = { name: "early", run: () => "early ran" };
const late: TestTool = { name: "late", run: () => "late ran" };
const changed: TestTool = {
  ...early,
  description: "Changed.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: ({ city }) => `early in ${String(city)}`,
};

/** Changes the server's tools and waits until the toolset has them. The integration's listener keeps the stream open. */
async function setTools({ server, mcp }: TestToolset, ...next: readonly TestTool[]): Promise<void> {
  await server.waitForListener();
  server.tools = next;
  const isUpdated = () =>
    mcp.tools.length === next.length &&
    mcp.tools.every(({ description }, n) => hasDescription(next[n], description));
  await emitUntil(() => server.notifyToolsChanged(), isUpdated);
}

function hasDescription(testTool: TestTool | undefined, description: string): boolean {
  return testTool?.description === undefined || testTool.description === description;
}

/** Records the tools that are bound to a model, by turn. */
function recordTools(model: ReturnType<typeof fakeModel>) {
  const boundTools: { name: string; description: string; schema: unknown }[][] = [];
  const bindTools = model.bindTools.bind(model);
  model.bindTools = (tools) => {
    boundTools.push(
      tools.map(({ name, description = "", schema }) => ({ name, description, schema }) as never),
    );
    return bindTools(tools);
  };
  return { model, boundTools };
}

describe.each(Object.entries(agentIntegrations))("in %s", (_, open) => {
  it.each(ERAS)("a tool that is added later is bound to the model, and runs (%s)", async (era) => {
    await using fixture = await startToolset({ tools: [early], era });
    const { model, boundTools } = recordTools(createScriptedModel([{ name: "srv__late", args: {} }]));
    const agent = open({ model, mcp: fixture.mcp });
    await setTools(fixture, early, late);
    const result = await agent.invoke(userInput);
    expect(boundTools[0]?.map(({ name }) => name)).toEqual(["srv__early", "srv__late"]);
    expect(getToolMessages(result)).toMatchObject([{ content: "late ran", status: "success" }]);
  });

  it("a changed tool is bound and called in its current version", async () => {
    await using fixture = await startToolset({ tools: [early] });
    const calls = [{ name: "srv__early", args: {} }];
    const { model, boundTools } = recordTools(
      createScriptedModel(calls, [{ name: "srv__early", args: { city: "Oslo" } }]),
    );
    const agent = open({ model, mcp: fixture.mcp });
    await setTools(fixture, changed);
    const result = await agent.invoke(userInput);
    expect(boundTools[0]).toMatchObject([
      { name: "srv__early", description: "Changed.", schema: { required: ["city"] } },
    ]);
    expect(getToolMessages(result)).toMatchObject([
      { status: "error", artifact: { error: { kind: "invalid-request" } } },
      { content: "early in Oslo", status: "success" },
    ]);
  });

  it("a removed tool is not bound, and a call of it fails with not-found", async () => {
    await using fixture = await startToolset({ tools: [early, late] });
    const { model, boundTools } = recordTools(createScriptedModel([{ name: "srv__late", args: {} }]));
    const agent = open({ model, mcp: fixture.mcp });
    await setTools(fixture, early);
    const result = await agent.invoke(userInput);
    expect(boundTools[0]?.map(({ name }) => name)).toEqual(["srv__early"]);
    expect(getToolMessages(result)).toMatchObject([
      { status: "error", name: "srv__late", artifact: { error: { kind: "not-found" } } },
    ]);
    expect(fixture.server.executions).toEqual([]);
  });

  it("a tool that never existed is handled by the framework", async () => {
    await using fixture = await startToolset({ tools: [early] });
    const result = await open({
      model: createScriptedModel([{ name: "srv__none", args: {} }]),
      mcp: fixture.mcp,
    }).invoke(userInput);
    expect(getToolMessages(result)).toMatchObject([{ status: "error" }]);
  });
});

describe("McpToolNode", () => {
  it("does not remember the names of all tools that a server has ever listed", async () => {
    await using fixture = await startToolset({ tools: [early] });
    const { server, mcp } = fixture;
    const node = new McpToolNode(mcp);
    const call = { name: "srv__early", args: {}, id: "1" };
    const callEarly = async () => {
      const { messages } = await node.invoke({
        messages: [new AIMessage({ content: "", tool_calls: [call] })],
      });
      return messages[0]?.content;
    };
    for (const list of [1, 2, 3]) {
      server.tools = times(7_000, (index) => ({ name: `n${list}-${index}`, run: () => "" }));
      await mcp.refresh();
      expect(node.tools).toHaveLength(7_000);
      if (list === 1) expect(await callEarly()).toContain("no longer exists");
    }
    expect(await callEarly()).toContain("not found");
  });
});

describe("mcpMiddleware", () => {
  const other = tool(() => "other ran", { name: "other", description: "Not of MCP." });

  it("keeps other tools and the tool selection of other middleware", async () => {
    await using fixture = await startToolset({ tools: [early, late] });
    const onlyEarly = createMiddleware({
      name: "select",
      wrapModelCall: (request, handler) =>
        handler({
          ...request,
          tools: request.tools.filter((bound) => Reflect.get(bound, "name") !== "srv__late"),
        }),
    });
    const { model, boundTools } = recordTools(createScriptedModel([{ name: "other", args: {} }]) as never);
    const agent = createAgent({
      model,
      tools: [other, ...fixture.mcp.tools],
      middleware: [onlyEarly, mcpMiddleware(fixture.mcp)],
    }) as unknown as Agent;
    const { messages } = await agent.invoke(userInput);
    expect(boundTools[0]?.map(({ name }) => name)).toEqual(["other", "srv__early"]);
    expect(messages.map((message: BaseMessage) => message.text)).toContain("other ran");
  });

  it("can be used once per toolset", async () => {
    await using one = await startToolset({ tools: [early] });
    await using two = await startToolset({ tools: [] });
    const agent = createAgent({
      model: createScriptedModel([{ name: "srv__late", args: {} }]),
      tools: one.mcp.tools,
      middleware: [mcpMiddleware(one.mcp), mcpMiddleware(two.mcp, { name: "second" })],
    }) as unknown as Agent;
    await setTools(two, late);
    expect(getToolMessages(await agent.invoke(userInput))).toMatchObject([{ content: "late ran" }]);
  });
});

describe("McpToolNode", () => {
  it("sends nothing for snapshots, and neither does mcpMiddleware", async () => {
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

  it("accepts the tools of some servers and other tools", async () => {
    await using server = await startMcpTestServer({ tools: [early] });
    await using mcp = await createMcpTools({ a: { url: server.url }, b: { url: server.url } });
    const other = tool(() => "other ran", { name: "other", description: "Not of MCP." });
    const node = new McpToolNode(mcp, { servers: ["b"], tools: [other], name: "mine" });
    expect(node.name).toBe("mine");
    expect(node.tools.map(({ name }) => name)).toEqual(["b__early", "other"]);
    const request = new AIMessage({
      content: "",
      tool_calls: [
        { name: "other", args: {}, id: "1" },
        { name: "b__early", args: {}, id: "2" },
      ],
    });
    const { messages } = await node.invoke({ messages: [request] });
    expect(messages.map(({ text }) => text)).toEqual(["other ran", "early ran"]);
  });
});

describe("many agents on one toolset", () => {
  it.each<[string, (mcp: McpToolset) => unknown]>([
    ["McpToolNode", (mcp) => new McpToolNode(mcp)],
    ["mcpMiddleware", (mcp) => mcpMiddleware(mcp)],
  ])("leave nothing behind: %s", { timeout: 120_000 }, async (_, createIntegration) => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools({ s: { url: server.url } });
    const createMany = (count: number) => {
      for (let index = 0; index < count; index += 1) createIntegration(mcp);
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = createMany(1_000);
    // A listener for each would keep 38 MB.
    expect(createMany(10_000) - before).toBeLessThan(5_000_000);
  });
});
