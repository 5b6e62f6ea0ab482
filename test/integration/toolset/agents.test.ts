import { AIMessage } from "@langchain/core/messages";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import type { McpTool } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import {
  type AgentResult,
  createScriptedModel,
  getToolMessages,
  type ScriptedCall,
  userInput,
} from "../../fixtures/agents.js";
import { startToolset } from "../../fixtures/toolsets.js";
import { NO_RETRY } from "../../fixtures/clients.js";

/** Runs an agent whose model makes these calls, then responds. */
type RunAgent = (tools: McpTool[], calls: readonly ScriptedCall[]) => Promise<AgentResult>;

const frameworks: readonly (readonly [string, RunAgent])[] = [
  [
    "createReactAgent",
    (tools, calls) => createReactAgent({ llm: createScriptedModel(calls), tools }).invoke(userInput),
  ],
  [
    "createAgent",
    (tools, calls) => createAgent({ model: createScriptedModel(calls), tools }).invoke(userInput),
  ],
  [
    "createAgent with a wrapToolCall middleware",
    (tools, calls) => {
      const middleware = createMiddleware({
        name: "watch",
        wrapToolCall: (request, handler) => handler(request),
      });
      const model = createScriptedModel(calls);
      return createAgent({ model, tools, middleware: [middleware] }).invoke(userInput);
    },
  ],
  [
    "ToolNode",
    async (tools, calls) => {
      const request = await createScriptedModel(calls).invoke(userInput.messages);
      const { messages } = (await new ToolNode(tools).invoke({ messages: [request] })) as AgentResult;
      return { messages: [...messages, new AIMessage("done")] };
    },
  ],
];

const forecast: TestTool = {
  name: "forecast",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city"],
  },
  run: ({ city }) => `${String(city)}: rain`,
};
const broken: TestTool = {
  name: "broken",
  run: () => {
    throw new Error("out of paper");
  },
};

describe.each(frameworks)("in %s", (_, run) => {
  it("a tool returns its result", async () => {
    await using fixture = await startToolset({ tools: [forecast] });
    const result = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    expect(getToolMessages(result)).toMatchObject([
      {
        content: "Oslo: rain",
        name: "srv__forecast",
        status: "success",
        tool_call_id: "call-1",
        artifact: { isError: false },
      },
    ]);
    expect(result.messages.at(-1)?.content).toBe("done");
  });

  it("an isError result is passed to the model, and the run continues", async () => {
    await using fixture = await startToolset({ tools: [broken] });
    const result = await run(fixture.mcp.tools, [{ name: "srv__broken", args: {} }]);
    expect(getToolMessages(result)).toMatchObject([
      {
        content: "out of paper",
        name: "srv__broken",
        status: "error",
        artifact: { isError: true, error: { kind: "tool-error" } },
        metadata: { tool_type: "mcp" },
      },
    ]);
    expect(result.messages.at(-1)?.content).toBe("done");
  });

  it("invalid arguments are reported with their paths, without a request or a stack trace", async () => {
    await using fixture = await startToolset({ tools: [forecast] });
    const result = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { days: "three" } }]);
    const [message] = getToolMessages(result);
    expect(message).toMatchObject({
      status: "error",
      name: "srv__forecast",
      artifact: { error: { kind: "invalid-request", issues: [{ path: "city" }, { path: "days" }] } },
    });
    expect(message?.content).toContain("city");
    expect(message?.content).toContain("days");
    expect(message?.content).not.toMatch(/\.(?:ts|js):\d+|node_modules|file:\/\//);
    expect(fixture.server.executions).toEqual([]);
    expect(result.messages.at(-1)?.content).toBe("done");
  });

  it("a dead server and a timeout are reported to the model, and the run continues", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using fixture = await startToolset({
      tools: [forecast, slow],
      rules: { slow: { timeoutMs: 200 } },
      definition: NO_RETRY,
    });
    const late = await run(fixture.mcp.tools, [{ name: "srv__slow", args: {} }]);
    expect(getToolMessages(late)).toMatchObject([
      { status: "error", artifact: { error: { kind: "timeout", outcomeUnknown: true } } },
    ]);
    expect(getToolMessages(late)[0]?.content).toContain("may have run");
    await fixture.server.stop();
    const dead = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    expect(getToolMessages(dead)).toMatchObject([
      { status: "error", artifact: { error: { kind: "not-sent" } } },
    ]);
    expect(dead.messages.at(-1)?.content).toBe("done");
  });

  it("a restart of the server between two calls does not matter", async () => {
    await using fixture = await startToolset({ tools: [forecast] });
    await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    await fixture.server.restart();
    const result = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Rome" } }]);
    expect(getToolMessages(result)).toMatchObject([{ content: "Rome: rain", status: "success" }]);
  });

  it("several calls of one message run, and a failure does not affect the others", async () => {
    await using fixture = await startToolset({ tools: [forecast, broken] });
    const result = await run(fixture.mcp.tools, [
      { name: "srv__forecast", args: { city: "Oslo" } },
      { name: "srv__broken", args: {} },
      { name: "srv__forecast", args: { city: "Rome" } },
    ]);
    expect(getToolMessages(result).map(({ content, status }) => [content, status])).toEqual([
      ["Oslo: rain", "success"],
      ["out of paper", "error"],
      ["Rome: rain", "success"],
    ]);
  });
});
