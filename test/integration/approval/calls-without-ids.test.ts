import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { type Agent, getToolMessages, resumeWith, threadConfig } from "../../fixtures/agents.js";
import { startToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";

const BANK: ToolsetSetup = {
  name: "bank",
  tools: [{ name: "pay", run: ({ to }) => `paid ${String(to)}` }],
  rules: { pay: { requireApproval: true } },
};
const call = { name: "bank__pay", args: { to: "ann" } };
const approve = { type: "approve" };
const reject = { type: "reject", message: "Not again." };

/** The input of a graph whose model has made calls without ids. */
function inputOf(...calls: (typeof call)[]): { messages: BaseMessage[] } {
  return {
    messages: [new AIMessage({ id: "m1", content: "", tool_calls: calls.map((made) => ({ ...made })) })],
  };
}

function createGraph(
  tools: McpToolNode | ((state: unknown, config: RunnableConfig) => Promise<object>),
): Agent {
  return new StateGraph(MessagesAnnotation)
    .addNode("tools", tools as never)
    .addEdge("__start__", "tools")
    .compile({ checkpointer: new MemorySaver() }) as unknown as Agent;
}

describe("two equal calls without ids", () => {
  it.each([
    [approve, approve, 2, ["paid ann", "paid ann"]],
    [approve, reject, 1, ["paid ann", "Not again."]],
    [reject, approve, 1, ["Not again.", "paid ann"]],
  ])("of a message are approved one by one: %j and %j", async (first, second, runs, texts) => {
    await using fixture = await startToolset(BANK);
    const graph = createGraph(new McpToolNode(fixture.mcp));
    const { __interrupt__: interrupts } = await graph.invoke(inputOf(call, call) as never, threadConfig("1"));
    const { actionRequests = [] } = (interrupts?.[0]?.value ?? {}) as {
      actionRequests?: { callHash: string }[];
    };
    expect(new Set(actionRequests.map(({ callHash }) => callHash)).size).toBe(2);
    const done = await graph.invoke(resumeWith(first, second), threadConfig("1"));
    expect(fixture.server.executions).toHaveLength(runs);
    const messages = getToolMessages(done);
    for (const [index, text] of texts.entries()) expect(messages[index]?.text).toContain(text);
  });

  it("of one node: the second is denied, and the first runs once", async () => {
    await using fixture = await startToolset(BANK);
    const outcomes: unknown[] = [];
    const graph = createGraph(async (_, config) => {
      const pay = () => fixture.tool.run(call.args, config);
      const first = await pay();
      outcomes.push(first.text(), await pay().catch((error: unknown) => error));
      return {};
    });
    const { __interrupt__: interrupts } = await graph.invoke(inputOf(call) as never, threadConfig("1"));
    expect(interrupts).toHaveLength(1);
    await graph.invoke(resumeWith(approve), threadConfig("1"));
    expect(fixture.server.executions).toHaveLength(1);
    expect(outcomes).toMatchObject([
      "paid ann",
      { kind: "denied", message: expect.stringContaining("an approval is for one call") as unknown },
    ]);
  });

  it("are approved one by one by onApproval, and run each", async () => {
    let approvals = 0;
    const onApproval = () => (approvals += 1) > 0;
    await using fixture = await startToolset({ ...BANK, options: { onApproval } });
    const results = await Promise.all([fixture.mcp.callTool(call), fixture.mcp.callTool(call)]);
    expect(results.map((result) => result.text())).toEqual(["paid ann", "paid ann"]);
    expect([approvals, fixture.server.executions.length]).toEqual([2, 2]);
  });
});
