import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  type McpRuntimeError,
  type McpTool,
  type McpToolsOptions,
  type ToolRules,
} from "../../../src/index.js";
import { McpTestServer, type TestTool } from "../../../src/testing/index.js";
import { failureOf, gate } from "../../fixtures/clients.js";

const echo: TestTool = {
  name: "echo",
  description: "Gives it back.",
  inputSchema: {
    type: "object",
    properties: {
      text: { type: "string" },
      user: { type: "string" },
      times: { type: "integer", default: 1 },
    },
    required: ["text", "user"],
  },
  run: (args) => JSON.stringify(args),
};

async function toolsOf(tools: readonly TestTool[], options: McpToolsOptions = {}, rules?: ToolRules) {
  const server = new McpTestServer({ tools });
  const mcp = await createMcpTools(
    { srv: { server, ...(rules === undefined ? {} : { tools: rules }) } },
    options,
  );
  return {
    server,
    mcp,
    tool: mcp.tools[0] as McpTool,
    call: (args: Record<string, unknown>, config = {}) =>
      mcp.tools[0]?.invoke(
        { type: "tool_call", id: "call-1", name: mcp.tools[0].name, args },
        config,
      ) as Promise<ToolMessage>,
    [Symbol.asyncDispose]: () => mcp.close(),
  };
}

describe("a tool", () => {
  it("has a safe name, its server's description and metadata, and knows where it comes from", async () => {
    await using story = await toolsOf([
      { ...echo, name: "say it/again", annotations: { title: "Say it", readOnlyHint: true } },
    ]);
    expect(story.tool.name).toBe("srv__say_it_again");
    expect(story.tool.description).toBe("Gives it back.");
    expect(story.tool.mcp).toMatchObject({
      server: "srv",
      name: "say it/again",
      title: "Say it",
      annotations: { readOnlyHint: true },
    });
    expect(story.tool.metadata).toMatchObject({
      tool_type: "mcp",
      display_name: "Say it",
      server: "srv",
      slug: "srv",
      title: "Say it",
      schema_hash: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
    await story.call({ text: "a", user: "u" });
    expect(story.server.executions[0]?.tool).toBe("say it/again");
  });

  it("shows a model its schema, and sends defaults", async () => {
    await using story = await toolsOf([echo]);
    const { function: shown } = convertToOpenAITool(story.tool);
    expect(shown).toMatchObject({
      name: "srv__echo",
      parameters: { type: "object", required: ["text", "user"] },
    });
    await story.call({ text: "a", user: "u" });
    expect(story.server.executions[0]?.args).toEqual({ text: "a", user: "u", times: 1 });
  });

  it("invoked directly gives its content, and throws its failure", async () => {
    await using story = await toolsOf([
      echo,
      {
        name: "fails",
        run: () => {
          throw new Error("no");
        },
      },
    ]);
    expect(await story.tool.invoke({ text: "a", user: "u" })).toBe('{"text":"a","user":"u","times":1}');
    expect(await failureOf(story.tool.invoke({ text: 1 }))).toMatchObject({
      kind: "invalid-request",
      name: "McpRuntimeError",
      tool: "echo",
    });
    expect(await failureOf(story.mcp.tools[1]?.invoke({}) as Promise<unknown>)).toMatchObject({
      kind: "tool-error",
    });
    expect(await failureOf(story.tool.invoke("text" as never))).toMatchObject({ kind: "invalid-request" });
  });

  it("works in a chain", async () => {
    await using story = await toolsOf([echo]);
    const chain = RunnableLambda.from((text: string) => ({ text, user: "u" })).pipe(story.tool);
    expect(await chain.invoke("piped")).toContain("piped");
  });

  it("prints nothing of its clients", async () => {
    await using story = await toolsOf([echo]);
    expect(JSON.stringify(story.tool)).not.toContain("settings");
    expect(Object.keys(story.tool)).not.toContain("inside");
  });
});

describe("callbacks", () => {
  it("see the tool's name, arguments, result and failure of every call", async () => {
    const seen: unknown[] = [];
    class Watch extends BaseCallbackHandler {
      name = "watch";
      override handleToolStart(...args: unknown[]) {
        seen.push(["start", args[6], args[1]]);
      }
      override handleToolEnd(output: unknown) {
        seen.push(["end", output instanceof ToolMessage ? [output.status, output.content] : output]);
      }
      override handleToolError(error: McpRuntimeError) {
        seen.push(["error", error.kind]);
      }
    }
    await using story = await toolsOf([echo]);
    const callbacks = [new Watch()];
    await story.call({ text: "a", user: "u" }, { callbacks });
    await story.call({ text: 1, user: "u" }, { callbacks });
    await failureOf(story.tool.invoke({ text: 1, user: "u" }, { callbacks }));
    expect(seen).toEqual([
      ["start", "srv__echo", '{"text":"a","user":"u"}'],
      ["end", ["success", '{"text":"a","user":"u","times":1}']],
      ["start", "srv__echo", expect.stringContaining("1")],
      ["end", ["error", expect.stringContaining("text")]],
      ["start", "srv__echo", expect.stringContaining("1")],
      ["error", "invalid-request"],
    ]);
  });
});

describe("a failed tool call", () => {
  it("is thrown with onFailure: error", async () => {
    await using story = await toolsOf([echo], { onToolError: "throw" });
    expect(await failureOf(story.call({}))).toMatchObject({ kind: "invalid-request" });
  });

  it("is told in the user's words with a function", async () => {
    await using story = await toolsOf([echo], { onToolError: ({ kind }) => `sorry: ${kind}` });
    expect(await story.call({})).toMatchObject({
      status: "error",
      content: "sorry: invalid-request",
      artifact: { error: { kind: "invalid-request" } },
    });
  });

  it("by the caller's abort always throws the caller's reason", async () => {
    const { opened, open } = gate();
    await using story = await toolsOf([{ name: "slow", run: () => opened }]);
    const controller = new AbortController();
    const call = failureOf(story.call({}, { signal: controller.signal }));
    controller.abort("enough");
    expect(await call).toBe("enough");
    open();
  });

  it("of a closed toolset throws kind closed", async () => {
    const story = await toolsOf([echo]);
    await story.mcp.close();
    expect(await failureOf(story.call({ text: "a", user: "u" }))).toMatchObject({ kind: "closed" });
  });

  it("lets LangGraph's interrupts through", async () => {
    const interrupt = Object.assign(new Error("interrupt"), { is_bubble_up: true });
    const beforeToolCall = () => {
      throw interrupt;
    };
    await using story = await toolsOf([echo], { beforeToolCall });
    expect(await failureOf(story.call({ text: "a", user: "u" }))).toBe(interrupt);
  });

  it("by LangChain's timeout is kind timeout", async () => {
    await using story = await toolsOf([{ name: "slow", run: () => new Promise(() => undefined) }]);
    expect(await story.call({}, { timeout: 50 })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "timeout" } },
    });
  });
});

describe("rules", () => {
  it("fill in arguments that the model neither sees nor decides", async () => {
    const rules: ToolRules = {
      echo: {
        args: { user: ({ configurable }) => configurable["user"] },
      },
    };
    await using story = await toolsOf([echo], {}, rules);
    const { function: shown } = convertToOpenAITool(story.tool);
    expect(JSON.stringify(shown)).not.toContain("user");
    await story.call({ text: "a", user: "mallory" }, { configurable: { user: "alice" } });
    expect(story.server.executions[0]?.args).toMatchObject({ user: "alice" });
  });

  it("set time limits, descriptions, and what is left out", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using story = await toolsOf(
      [slow, { ...echo, name: "admin_x" }],
      {},
      {
        slow: { timeoutMs: 50, description: "Takes its time." },
        "admin_*": false,
      },
    );
    expect(story.mcp.tools.map(({ name, description }) => [name, description])).toEqual([
      ["srv__slow", "Takes its time."],
    ]);
    expect(await story.call({})).toMatchObject({ artifact: { error: { kind: "timeout" } } });
  });

  it("limit how many calls of a tool run at once", async () => {
    let [running, most] = [0, 0];
    const tool: TestTool = {
      name: "t",
      run: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
      },
    };
    await using story = await toolsOf([tool], {}, { t: { maxConcurrent: 2 } });
    await Promise.all(Array.from({ length: 8 }, () => story.call({})));
    expect(most).toBe(2);
  });

  it("that match nothing are warned about, and one for all servers once", async () => {
    const warnings: string[] = [];
    const warn = (message: string) => warnings.push(message);
    const logger = { debug: warn, info: warn, warn, error: warn };
    await using _ = await toolsOf([echo], { logger, tools: { "x_*": {} } }, { ecko: { idempotent: true } });
    expect(warnings).toEqual([
      'Server "srv": the rule for "ecko" matches none of its tools.',
      'The rule for "x_*" matches no tool of any server.',
    ]);
  });

  it("ask for approval, and refuse where nobody can give it", async () => {
    const asked: unknown[] = [];
    const rules: ToolRules = { echo: { requireApproval: true } };
    await using refused = await toolsOf([echo], {}, rules);
    expect(await refused.call({ text: "a", user: "u" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "denied" } },
    });
    const onApproval = ({ args }: { args: Record<string, unknown> }) => {
      asked.push(args["text"]);
      return args["text"] === "yes";
    };
    await using story = await toolsOf([echo], { onApproval }, rules);
    expect(await story.call({ text: "yes", user: "u" })).toMatchObject({ status: "success" });
    expect(await story.call({ text: "no", user: "u" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "denied" } },
    });
    expect(asked).toEqual(["yes", "no"]);
    expect(story.server.executions).toHaveLength(1);
  });
});

describe("hooks", () => {
  it("change arguments and results, and cannot harm what they are given", async () => {
    const args = Object.freeze({ text: "a", user: "u" });
    await using story = await toolsOf([echo], {
      beforeToolCall: (call) => {
        (call.args as Record<string, unknown>)["text"] = "harmed";
        return call.args["text"] === "harmed" ? { args: { text: "changed", user: "u" } } : undefined;
      },
      afterToolCall: ({ result }) => ({
        content: [{ type: "text", text: `${(result.content[0] as { text?: string }).text}!` }],
      }),
    });
    expect((await story.call(args)).content).toBe('{"text":"changed","user":"u"}!');
    expect(args.text).toBe("a");
  });

  it("can deny, and their errors are told as a refusal", async () => {
    await using story = await toolsOf([echo], {
      beforeToolCall: ({ args }) => (args["text"] === "bad" ? { deny: "not today" } : undefined),
    });
    const message = await story.call({ text: "bad", user: "u" });
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    expect(message.content).toContain("not today");
    expect(story.server.executions).toEqual([]);
  });

  it("what a hook changes is checked like the model's own", async () => {
    await using story = await toolsOf([echo], { beforeToolCall: () => ({ args: { text: 7 } }) });
    expect(await story.call({ text: "a", user: "u" })).toMatchObject({
      artifact: { error: { kind: "invalid-request" } },
    });
  });
});

describe("results", () => {
  const structured: TestTool = {
    name: "t",
    outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    run: ({ n }) => ({ content: [{ type: "text", text: "words" }], structuredContent: { n } }),
  };

  it("carry everything in the artifact", async () => {
    await using story = await toolsOf([
      {
        name: "t",
        run: () => ({ content: [{ type: "text", text: "x" }], structuredContent: { a: 1 }, _meta: { b: 2 } }),
      },
    ]);
    expect(await story.call({})).toMatchObject({
      content: "x",
      artifact: {
        structuredContent: { a: 1 },
        meta: { b: 2 },
        isError: false,
        content: [{ type: "text", text: "x" }],
      },
    });
  });

  it("show structured content as asked", async () => {
    await using story = await toolsOf([structured], { structuredContent: "prefer" });
    expect((await story.call({ n: 1 })).content).toBe('{"n":1}');
  });

  it("that do not fit the output schema are warned about, or fail the call", async () => {
    const warnings: string[] = [];
    const warn = (message: string) => warnings.push(message);
    await using warned = await toolsOf([structured], {
      logger: { debug: warn, info: warn, warn, error: warn },
    });
    expect(await warned.call({ n: "x" })).toMatchObject({ status: "success" });
    expect(warnings).toEqual([expect.stringContaining("does not fit its output schema")]);
    await using strict = await toolsOf([structured], { outputValidation: "error" });
    expect(await strict.call({ n: "x" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-response" } },
    });
  });

  it("that are long are cut for the model, and whole for a direct caller", async () => {
    await using story = await toolsOf([{ name: "t", run: () => "x".repeat(500) }], {
      limits: { contentChars: 100 },
    });
    const { content } = await story.call({});
    expect(String(content).startsWith("x".repeat(50))).toBe(true);
    expect(String(content).length).toBeLessThan(200);
    expect(await story.tool.invoke({})).toHaveLength(500);
  });
});
