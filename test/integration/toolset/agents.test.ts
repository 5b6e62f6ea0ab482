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

/** One model turn with these calls, then a last word: the messages of the whole run. */
type RunAgent = (tools: McpTool[], calls: readonly Call[]) => Promise<BaseMessage[]>;

const question = { messages: [new HumanMessage("Please.")] };

function scripted(calls: readonly Call[]) {
  const withIds = calls.map((call, index) => ({ ...call, id: `call-${index + 1}` }));
  return fakeModel().respondWithTools(withIds).respond(new AIMessage("done"));
}

const ways: readonly (readonly [string, RunAgent])[] = [
  [
    "createReactAgent",
    async (tools, calls) =>
      (await createReactAgent({ llm: scripted(calls), tools }).invoke(question)).messages,
  ],
  [
    "createAgent",
    async (tools, calls) => (await createAgent({ model: scripted(calls), tools }).invoke(question)).messages,
  ],
  [
    "createAgent with a wrapToolCall middleware",
    async (tools, calls) => {
      const middleware = createMiddleware({
        name: "watch",
        wrapToolCall: (request, handler) => handler(request),
      });
      return (await createAgent({ model: scripted(calls), tools, middleware: [middleware] }).invoke(question))
        .messages;
    },
  ],
  [
    "ToolNode",
    async (tools, calls) => {
      const asked = await scripted(calls).invoke(question.messages);
      const { messages } = (await new ToolNode(tools).invoke({ messages: [asked] })) as {
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

async function setUp(
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

describe.each(ways)("in %s", (_, run) => {
  it("a tool gives its result", async () => {
    await using story = await setUp([forecast]);
    const messages = await run(story.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
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

  it("an isError result is told to the model in the tool's own words, and the run goes on", async () => {
    await using story = await setUp([broken]);
    const messages = await run(story.mcp.tools, [{ name: "srv__broken", args: {} }]);
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

  it("bad arguments are told with their paths, nothing is sent, and no stack or local path is shown", async () => {
    await using story = await setUp([forecast]);
    const messages = await run(story.mcp.tools, [{ name: "srv__forecast", args: { days: "three" } }]);
    const [message] = toolMessages(messages);
    expect(message).toMatchObject({
      status: "error",
      name: "srv__forecast",
      artifact: { error: { kind: "invalid-request" } },
    });
    expect(message?.content).toContain("city");
    expect(message?.content).toContain("days");
    expect(message?.content).not.toMatch(/\.(?:ts|js):\d+|node_modules|file:\/\//);
    expect(story.server.executions).toEqual([]);
    expect(messages.at(-1)?.content).toBe("done");
  });

  it("a dead server and a tool that is too slow are told, and the run goes on", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using story = await setUp([forecast, slow]);
    const late = await run(story.mcp.tools, [{ name: "srv__slow", args: {} }]);
    expect(toolMessages(late)).toMatchObject([
      { status: "error", artifact: { error: { kind: "timeout", outcomeUnknown: true } } },
    ]);
    expect(toolMessages(late)[0]?.content).toContain("may have run all the same");
    await story.server.stop();
    const dead = await run(story.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    expect(toolMessages(dead)).toMatchObject([
      { status: "error", artifact: { error: { kind: "not-sent" } } },
    ]);
    expect(dead.at(-1)?.content).toBe("done");
  });

  it("a server that restarts between two calls is not noticed", async () => {
    await using story = await setUp([forecast]);
    await run(story.mcp.tools, [{ name: "srv__forecast", args: { city: "Oslo" } }]);
    await story.server.restart();
    const messages = await run(story.mcp.tools, [{ name: "srv__forecast", args: { city: "Rome" } }]);
    expect(toolMessages(messages)).toMatchObject([{ content: "Rome: rain", status: "success" }]);
  });

  it("several calls of one message run, and one that fails costs no other", async () => {
    await using story = await setUp([forecast, broken]);
    const messages = await run(story.mcp.tools, [
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
