import { MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { expect, it } from "vitest";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import {
  type Agent,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { startToolset } from "../../fixtures/toolsets.js";

it("an approval is for one run: a call that a middleware repeats after it needs another one", async () => {
  await using fixture = await startToolset({
    name: "bank",
    tools: [{ name: "pay", run: ({ to }) => `paid ${String(to)}` }],
    rules: { pay: { requireApproval: true, idempotent: true } },
  });
  const repeating = createMiddleware({
    name: "repeating",
    wrapToolCall: async (request, handler) => {
      await handler(request);
      return handler(request);
    },
  });
  const agent = createAgent({
    model: createScriptedModel([{ name: "bank__pay", args: { to: "ann" } }]),
    tools: fixture.mcp.tools,
    middleware: [mcpMiddleware(fixture.mcp), repeating],
    checkpointer: new MemorySaver(),
  }) as unknown as Agent;
  await agent.invoke(userInput, threadConfig("1"));
  const done = await agent.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
  expect(fixture.server.executions).toHaveLength(1);
  expect(done.__interrupt__).toHaveLength(1);
  expect(getToolMessages(done)).toEqual([]);
});
