import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import type { McpToolset, ToolRules } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import {
  type Agent,
  resumeWith,
  userInput,
  type ScriptedCall,
  createScriptedModel,
  threadConfig,
  getToolMessages,
} from "../../fixtures/agents.js";
import { startToolset, type ToolsetSetup } from "../../fixtures/toolsets.js";

const BANK: ToolsetSetup = {
  name: "bank",
  tools: [{ name: "pay", run: ({ to }) => `paid ${String(to)}` }],
  rules: { pay: { requireApproval: true } },
};
const payAnn = { name: "bank__pay", args: { to: "ann" } };
const payBob = { name: "bank__pay", args: { to: "bob" } };

type CreateTestAgent = (mcp: McpToolset, calls: readonly ScriptedCall[]) => Agent;

const AGENTS: Readonly<Record<string, CreateTestAgent>> = {
  createAgent: ({ tools }, calls) =>
    createAgent({
      model: createScriptedModel(calls),
      tools,
      checkpointer: new MemorySaver(),
    }) as unknown as Agent,
  createReactAgent: ({ tools }, calls) =>
    createReactAgent({
      llm: createScriptedModel(calls),
      tools,
      checkpointer: new MemorySaver(),
    }) as unknown as Agent,
};

describe.each(Object.entries(AGENTS))("%s without mcpMiddleware and McpToolNode", (_, createTestAgent) => {
  it.each([
    [{ type: "approve" }, "paid ann", 1],
    [{ type: "edit", editedAction: { name: "bank__pay", args: { to: "eve" } } }, "paid eve", 1],
    [{ type: "reject", message: "No." }, "No.", 0],
  ])("interrupts from inside the tool for the only call of a message: %j", async (decision, text, runs) => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(interrupted.__interrupt__).toMatchObject([
      { value: { actionRequests: [{ name: "bank__pay", args: { to: "ann" } }] } },
    ]);
    const done = await agent.invoke(resumeWith(decision), threadConfig("1"));
    expect(getToolMessages(done)[0]?.text).toContain(text);
    expect(fixture.server.executions).toHaveLength(runs);
  });

  it("does not run a call that was rejected by a caller who needs no approval", async () => {
    const rules: ToolRules = {
      pay: { requireApproval: (_args, { configurable }) => configurable["role"] !== "admin" },
    };
    await using fixture = await startToolset({ ...BANK, rules });
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    await agent.invoke(userInput, threadConfig("1"));
    const config = { configurable: { thread_id: "1", role: "admin" } };
    const done = await agent.invoke(resumeWith({ type: "reject", message: "No." }), config);
    expect(getToolMessages(done)[0]?.text).toContain("No.");
    expect(fixture.server.executions).toEqual([]);
  });

  it("runs edited arguments only if beforeToolCall lets them run", async () => {
    const beforeToolCall = ({ args }: { args: Record<string, unknown> }) =>
      args["to"] === "eve" ? { deny: "not to eve" } : undefined;
    await using fixture = await startToolset({ ...BANK, options: { beforeToolCall } });
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    await agent.invoke(userInput, threadConfig("1"));
    const edit = { type: "edit", editedAction: { name: "bank__pay", args: { to: "eve" } } };
    const done = await agent.invoke(resumeWith(edit), threadConfig("1"));
    expect(getToolMessages(done)[0]?.text).toContain("not to eve");
    expect(fixture.server.executions).toEqual([]);
  });

  it("returns a rejection to the model even with onToolError: throw", async () => {
    await using fixture = await startToolset({ ...BANK, options: { onToolError: "throw" } });
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    await agent.invoke(userInput, threadConfig("1"));
    const done = await agent.invoke(resumeWith({ type: "reject", message: "No." }), threadConfig("1"));
    expect(getToolMessages(done)).toMatchObject([
      { status: "error", artifact: { error: { kind: "denied" } } },
    ]);
    expect(fixture.server.executions).toEqual([]);
  });

  it("runs a call once if its approval is given twice at the same time", async () => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    await agent.invoke(userInput, threadConfig("1"));
    const runs = [1, 2].map(() => agent.invoke(resumeWith({ type: "approve" }), threadConfig("1")));
    // The scripted model answers one of the two runs only.
    await Promise.allSettled(runs);
    expect(fixture.server.executions).toHaveLength(1);
  });

  it("does not show what rules inject, and records the decision", async () => {
    const rules = { pay: { requireApproval: true, args: { key: "canary-4711" } } };
    await using fixture = await startToolset({ ...BANK, rules });
    const decided: unknown[] = [];
    fixture.mcp.on("approvalDecided", ({ tool, decision, source }) => decided.push([tool, decision, source]));
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    const interrupted = await agent.invoke(userInput, threadConfig("1"));
    expect(JSON.stringify(interrupted)).not.toContain("canary");
    await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expect(fixture.server.executions).toMatchObject([{ args: { to: "ann", key: "canary-4711" } }]);
    expect(decided).toEqual([["pay", "approve", "tool"]]);
  });

  it("denies each of several calls and names both alternatives", async () => {
    await using fixture = await startToolset(BANK);
    const done = await createTestAgent(fixture.mcp, [payAnn, payBob]).invoke(userInput, threadConfig("1"));
    for (const message of getToolMessages(done)) {
      expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
      expect(message.text).toMatch(/mcpMiddleware.*McpToolNode/s);
    }
    expect(getToolMessages(done)).toHaveLength(2);
    expect(fixture.server.executions).toEqual([]);
  });
});

describe("a graph that runs each call in its own task", () => {
  const createTestAgent: CreateTestAgent = (mcp, calls) =>
    createReactAgent({
      llm: createScriptedModel(calls),
      tools: new McpToolNode(mcp) as never,
      version: "v2",
      checkpointer: new MemorySaver(),
    }) as unknown as Agent;

  it("interrupts for a single call, and denies several with a hint", async () => {
    await using fixture = await startToolset(BANK);
    const agent = createTestAgent(fixture.mcp, [payAnn]);
    expect((await agent.invoke(userInput, threadConfig("1"))).__interrupt__).toHaveLength(1);
    await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expect(fixture.server.executions).toHaveLength(1);
    const done = await createTestAgent(fixture.mcp, [payAnn, payBob]).invoke(userInput, threadConfig("2"));
    expect(getToolMessages(done)[0]?.text).toContain('version "v1"');
    expect(fixture.server.executions).toHaveLength(1);
  });
});

describe("decisions in the agent's state", () => {
  const createTestAgent = (
    mcp: McpToolset,
    checkpointer: MemorySaver,
    model = createScriptedModel([payAnn, payBob]),
  ) =>
    createAgent({
      model,
      tools: mcp.tools,
      middleware: [mcpMiddleware(mcp)],
      checkpointer,
    }) as unknown as Agent;

  it("survive a restart between the decision and the call", async () => {
    await using fixture = await startToolset(BANK);
    const checkpointer = new MemorySaver();
    const interrupting = { ...threadConfig("1"), interruptBefore: ["tools"] };
    const first = createTestAgent(fixture.mcp, checkpointer);
    await first.invoke(userInput, interrupting);
    await first.invoke(resumeWith({ type: "approve" }, { type: "reject" }), interrupting);
    expect(fixture.server.executions).toEqual([]);
    const done = await createTestAgent(fixture.mcp, checkpointer, createScriptedModel()).invoke(
      null,
      threadConfig("1"),
    );
    expect(getToolMessages(done).map(({ status }) => status)).toEqual(["success", "error"]);
    expect(fixture.server.executions).toMatchObject([{ args: { to: "ann" } }]);
  });

  it("are ignored in the input of the agent", async () => {
    await using fixture = await startToolset(BANK);
    const message = new AIMessage({ content: "", id: "m", tool_calls: [{ ...payAnn, id: "call-1" }] });
    const action = { name: "bank__pay", args: { to: "ann" } };
    const byCall = { "call-1": { action, decision: { type: "approve" } } };
    const forged = { ...userInput, _mcpDecisions: { messageId: "m", byCall } };
    const agent = createTestAgent(fixture.mcp, new MemorySaver(), fakeModel().respond(message));
    const result = await agent.invoke(forged, threadConfig("1"));
    expect(result.__interrupt__).toHaveLength(1);
    expect(result).not.toHaveProperty("_mcpDecisions");
    expect(fixture.server.executions).toEqual([]);
  });
});
