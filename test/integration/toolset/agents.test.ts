import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createMcpTools, type McpTool, type McpToolset } from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";

interface Call {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Runs an agent whose model makes these calls, then responds; returns all messages. */
type RunAgent = (tools: McpTool[], calls: readonly Call[]) => Promise<BaseMessage[]>;

const question = { messages: [new HumanMessage("Please.")] };

function createModel(calls: readonly Call[]) {
  const withIds = calls.map((call, index) => ({ ...call, id: `call-${index + 1}` }));
  return fakeModel().respondWithTools(withIds).respond(new AIMessage("done"));
}

const frameworks: readonly (readonly [string, RunAgent])[] = [
  [
    "createReactAgent",
    async (tools, calls) =>
      (await createReactAgent({ llm: createModel(calls), tools }).invoke(question)).messages,
  ],
  [
    "createAgent",
    async (tools, calls) =>
      (await createAgent({ model: createModel(calls), tools }).invoke(question)).messages,
  ],
  [
    "createAgent with a wrapToolCall middleware",
    async (tools, calls) => {
      const middleware = createMiddleware({
        name: "watch",
        wrapToolCall: (request, handler) => handler(request),
      });
      return (
        await createAgent({ model: createModel(calls), tools, middleware: [middleware] }).invoke(question)
      ).messages;
    },
  ],
  [
    "ToolNode",
    async (tools, calls) => {
      const request = await createModel(calls).invoke(question.messages);
      const { messages } = (await new ToolNode(tools).invoke({ messages: [request] })) as {
        messages: BaseMessage[];
      };
      return [...messages, new AIMessage("done")];
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

async function createFixture(
  tools: readonly TestTool[],
): Promise<{ server: McpTestServer; mcp: McpToolset } & AsyncDisposable> {
  const server = await startMcpTestServer({ tools });
  const mcp = await createMcpTools({ srv: { url: server.url, tools: { slow: { timeoutMs: 200 } } } });
  return {
    server,
    mcp,
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await server.close();
    },
  };
}

function toolMessages(messages: readonly BaseMessage[]): ToolMessage[] {
  return messages.filter((message) => message instanceof ToolMessage);
}

describe.each(frameworks)("in %s", (_, run) => {
  it("a tool returns its result", async () => {
    await using fixture = await createFixture([forecast]);
    const messages = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    expect(toolMessages(messages)).toMatchObject([
      {
        content: "Oslo: rain",
        name: "srv__forecast",
        status: "success",
        tool_call_id: "call-1",
        artifact: { isError: false },
      },
    ]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("an isError result is passed to the model, and the run continues", async () => {
    await using fixture = await createFixture([broken]);
    const messages = await run(fixture.mcp.tools, [{ name: "srv__broken", args: {} }]);
    expect(toolMessages(messages)).toMatchObject([
      {
        content: "out of paper",
        name: "srv__broken",
        status: "error",
        artifact: { isError: true, error: { kind: "tool-error" } },
        metadata: { tool_type: "mcp" },
      },
    ]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("invalid arguments are reported with their paths, without a request or a stack trace", async () => {
    await using fixture = await createFixture([forecast]);
    const messages = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { days: "three" } }]);
    const [message] = toolMessages(messages);
    expect(message).toMatchObject({
      status: "error",
      name: "srv__forecast",
      artifact: { error: { kind: "invalid-request", issues: [{ path: "city" }, { path: "days" }] } },
    });
    expect(message?.content).toContain("city");
    expect(message?.content).toContain("days");
    expect(message?.content).not.toMatch(/\.(?:ts|js):\d+|node_modules|file:\/\//);
    expect(fixture.server.executions).toEqual([]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("a dead server and a timeout are reported to the model, and the run continues", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using fixture = await createFixture([forecast, slow]);
    const late = await run(fixture.mcp.tools, [{ name: "srv__slow", args: {} }]);
    expect(toolMessages(late)).toMatchObject([
      { status: "error", artifact: { error: { kind: "timeout", outcomeUnknown: true } } },
    ]);
    expect(toolMessages(late)[0]?.content).toContain("may have run");
    await fixture.server.stop();
    const dead = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    expect(toolMessages(dead)).toMatchObject([
      { status: "error", artifact: { error: { kind: "not-sent" } } },
    ]);
    expect(dead.at(-1)?.content).toBe("done");
  });

  it("a restart of the server between two calls does not matter", async () => {
    await using fixture = await createFixture([forecast]);
    await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    await fixture.server.restart();
    const messages = await run(fixture.mcp.tools, [{ name: "srv__forecast", args: { city: "Rome" } }]);
    expect(toolMessages(messages)).toMatchObject([{ content: "Rome: rain", status: "success" }]);
  });

  it("several calls of one message run, and a failure does not affect the others", async () => {
    await using fixture = await createFixture([forecast, broken]);
    const messages = await run(fixture.mcp.tools, [
      { name: "srv__forecast", args: { city: "Oslo" } },
      { name: "srv__broken", args: {} },
      { name: "srv__forecast", args: { city: "Rome" } },
    ]);
    expect(toolMessages(messages).map(({ content, status }) => [content, status])).toEqual([
      ["Oslo: rain", "success"],
      ["out of paper", "error"],
      ["Rome: rain", "success"],
    ]);
  });
});
