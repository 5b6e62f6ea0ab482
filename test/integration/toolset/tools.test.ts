import { getEventListeners } from "node:events";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { describe, expect, it } from "vitest";
import type { McpRuntimeError, McpTool, ToolRules } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { rejection, deferred } from "../../fixtures/clients.js";
import { createInProcessToolset } from "../../fixtures/toolsets.js";

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

describe("a tool", () => {
  it("has a safe name, a description and metadata of its server", async () => {
    await using fixture = await createInProcessToolset({
      tools: [{ ...echo, name: "say it/again", annotations: { title: "Say it", readOnlyHint: true } }],
    });
    expect(fixture.tool.name).toBe("srv__say_it_again");
    expect(fixture.tool.description).toBe("Gives it back.");
    expect(fixture.tool.mcp).toMatchObject({
      server: "srv",
      name: "say it/again",
      title: "Say it",
      annotations: { readOnlyHint: true },
    });
    expect(fixture.tool.metadata).toMatchObject({
      tool_type: "mcp",
      display_name: "Say it",
      server: "srv",
      slug: "srv",
      title: "Say it",
      schema_hash: expect.stringMatching(/^[0-9a-f]{12}$/),
    });
    await fixture.call({ text: "a", user: "u" });
    expect(fixture.server.executions[0]?.tool).toBe("say it/again");
  });

  it("has the title, icons, annotations and _meta of its server, also in the metadata of its messages", async () => {
    const listed = {
      title: "Say it",
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://icons.test/echo.png", sizes: ["48x48"] }],
      _meta: { "test/team": "weather", ui: { resourceUri: "ui://srv/echo" } },
    };
    await using fixture = await createInProcessToolset({ tools: [{ ...echo, ...listed }] });
    const { _meta: meta, ...others } = listed;
    expect(fixture.tool.mcp).toMatchObject({ ...others, meta });
    expect(fixture.tool.metadata).toMatchObject(listed);
    expect((await fixture.call({ text: "a", user: "u" })).metadata).toMatchObject(listed);
    expect((await fixture.call({ text: 1 })).metadata).toMatchObject(listed);
    // All users of the tool share them.
    const { metadata, mcp } = fixture.tool;
    for (const shared of [metadata, metadata?.["annotations"], mcp, mcp.annotations])
      expect(Object.isFrozen(shared)).toBe(true);
  });

  it("has large icons and a large _meta only in tool.mcp, not in the metadata of every message", async () => {
    const icons = [{ src: `data:image/png;base64,${"A".repeat(5_000)}` }];
    const _meta = { "test/page": "x".repeat(5_000) };
    await using fixture = await createInProcessToolset({ tools: [{ ...echo, icons, _meta }] });
    expect(fixture.tool.mcp).toMatchObject({ icons, meta: _meta });
    expect(fixture.tool.metadata).not.toHaveProperty("icons");
    expect(fixture.tool.metadata).not.toHaveProperty("_meta");
  });

  it("of a server whose name starts with a digit has a name that Gemini accepts, also for rules", async () => {
    await using fixture = await createInProcessToolset({
      name: "21st",
      tools: [echo, { ...echo, name: "-delete" }],
      options: { tools: { "_21st__-delete": false } },
    });
    expect(fixture.mcp.tools.map(({ name }) => name)).toEqual(["_21st__echo"]);
    await fixture.call({ text: "a", user: "u" });
    expect(fixture.server.executions[0]?.tool).toBe("echo");
  });

  it("a guard with the name before the underscore was added excludes the tool", async () => {
    await using fixture = await createInProcessToolset({
      name: "21st",
      tools: [echo],
      options: { tools: { "21st__echo": { requireApproval: true } } },
    });
    expect(fixture.mcp.tools).toEqual([]);
  });

  it("makes its schema when it is first read, and only once", async () => {
    const fields = Array.from({ length: 40 }, (_, n) => [
      `field${n}`,
      { type: "string", description: `The field ${n} of the record.`, pattern: "(?i)x" },
    ]);
    const inputSchema = { type: "object", properties: Object.fromEntries(fields) } as const;
    const tools = Array.from({ length: 344 }, (_, n) => ({ ...echo, name: `tool${n}`, inputSchema }));
    await using fixture = await createInProcessToolset({ tools });
    const { mcp, logger } = fixture;
    expect(mcp.tools).toHaveLength(344);
    // A schema with a pattern that cannot be used is reported when it is converted.
    expect(logger.warnings).toEqual([]);
    const [, second] = mcp.tools;
    const { schema } = second ?? {};
    expect(logger.warnings).toEqual([expect.stringContaining('tool "tool1"')]);
    expect(second?.schema).toEqual(schema);
    expect(convertToOpenAITool(second as McpTool).function.parameters).toEqual(schema);
    expect(logger.warnings).toHaveLength(1);
  });

  it("exposes its schema to models, and sends defaults", async () => {
    await using fixture = await createInProcessToolset({ tools: [echo] });
    const { function: shown } = convertToOpenAITool(fixture.tool);
    expect(shown).toMatchObject({
      name: "srv__echo",
      parameters: { type: "object", required: ["text", "user"] },
    });
    await fixture.call({ text: "a", user: "u" });
    expect(fixture.server.executions[0]?.args).toEqual({ text: "a", user: "u", times: 1 });
  });

  it("invoked directly returns its content or throws", async () => {
    await using fixture = await createInProcessToolset({
      tools: [
        echo,
        {
          name: "fails",
          run: () => {
            throw new Error("no");
          },
        },
      ],
    });
    expect(await fixture.tool.invoke({ text: "a", user: "u" })).toBe('{"text":"a","user":"u","times":1}');
    expect(await rejection(fixture.tool.invoke({ text: 1 }))).toMatchObject({
      kind: "invalid-request",
      name: "McpRuntimeError",
      tool: "echo",
    });
    expect(await rejection(fixture.mcp.tools[1]?.invoke({}) as Promise<unknown>)).toMatchObject({
      kind: "tool-error",
    });
    expect(await rejection(fixture.tool.invoke("text" as never))).toMatchObject({ kind: "invalid-request" });
  });

  it("works in a chain", async () => {
    await using fixture = await createInProcessToolset({ tools: [echo] });
    const chain = RunnableLambda.from((text: string) => ({ text, user: "u" })).pipe(fixture.tool);
    expect(await chain.invoke("piped")).toContain("piped");
  });

  it("does not expose its client when serialized", async () => {
    await using fixture = await createInProcessToolset({ tools: [echo] });
    expect(JSON.stringify(fixture.tool)).not.toContain("settings");
    expect(Object.keys(fixture.tool)).not.toContain("inside");
  });
});

describe("callbacks", () => {
  it("leave nothing at the signal of a run that cannot be reported to them", async () => {
    await using fixture = await createInProcessToolset({ tools: [echo] });
    const { signal } = new AbortController();
    const args = { text: "a", user: 1n };
    const failed = fixture.tool.run(args, { signal, callbacks: [{ handleToolStart: () => undefined }] });
    await expect(failed).rejects.toThrow(TypeError);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("receive the name, arguments, result and failure of every call", async () => {
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
    await using fixture = await createInProcessToolset({ tools: [echo] });
    const callbacks = [new Watch()];
    await fixture.call({ text: "a", user: "u" }, { callbacks });
    await fixture.call({ text: 1, user: "u" }, { callbacks });
    await rejection(fixture.tool.invoke({ text: 1, user: "u" }, { callbacks }));
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
  it("throws with onToolError: throw", async () => {
    await using fixture = await createInProcessToolset({ tools: [echo], options: { onToolError: "throw" } });
    expect(await rejection(fixture.call({}))).toMatchObject({ kind: "invalid-request" });
  });

  it("returns the text of an onToolError function", async () => {
    await using fixture = await createInProcessToolset({
      tools: [echo],
      options: { onToolError: ({ kind }) => `sorry: ${kind}` },
    });
    expect(await fixture.call({})).toMatchObject({
      status: "error",
      content: "sorry: invalid-request",
      artifact: { error: { kind: "invalid-request" } },
    });
  });

  it("throws the caller's reason after an abort", async () => {
    const { promise, resolve } = deferred();
    await using fixture = await createInProcessToolset({ tools: [{ name: "slow", run: () => promise }] });
    const controller = new AbortController();
    const call = rejection(fixture.call({}, { signal: controller.signal }));
    controller.abort("enough");
    expect(await call).toBe("enough");
    resolve();
  });

  it("throws kind closed after the toolset was closed", async () => {
    const fixture = await createInProcessToolset({ tools: [echo] });
    await fixture.mcp.close();
    expect(await rejection(fixture.call({ text: "a", user: "u" }))).toMatchObject({ kind: "closed" });
  });

  it("does not catch LangGraph interrupts", async () => {
    const interrupt = Object.assign(new Error("interrupt"), { is_bubble_up: true });
    const beforeToolCall = () => {
      throw interrupt;
    };
    await using fixture = await createInProcessToolset({ tools: [echo], options: { beforeToolCall } });
    expect(await rejection(fixture.call({ text: "a", user: "u" }))).toBe(interrupt);
  });

  it("has kind timeout after LangChain's timeout", async () => {
    await using fixture = await createInProcessToolset({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    expect(await fixture.call({}, { timeout: 50 })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "timeout" } },
    });
  });
});

describe("rules", () => {
  it("inject arguments that the model does not see", async () => {
    const rules: ToolRules = {
      echo: {
        args: { user: ({ configurable }) => configurable["user"] },
      },
    };
    await using fixture = await createInProcessToolset({ tools: [echo], rules });
    const { function: shown } = convertToOpenAITool(fixture.tool);
    expect(JSON.stringify(shown)).not.toContain("user");
    await fixture.call({ text: "a", user: "mallory" }, { configurable: { user: "alice" } });
    expect(fixture.server.executions[0]?.args).toMatchObject({ user: "alice" });
  });

  it("set timeouts and descriptions, and exclude tools", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using fixture = await createInProcessToolset({
      tools: [slow, { ...echo, name: "admin_x" }],
      rules: {
        slow: { timeoutMs: 50, description: "Takes its time." },
        "admin_*": false,
      },
    });
    expect(fixture.mcp.tools.map(({ name, description }) => [name, description])).toEqual([
      ["srv__slow", "Takes its time."],
    ]);
    expect(await fixture.call({})).toMatchObject({ artifact: { error: { kind: "timeout" } } });
  });

  it("limit the concurrent calls of a tool", async () => {
    let [running, max] = [0, 0];
    const tool: TestTool = {
      name: "t",
      run: async () => {
        running += 1;
        max = Math.max(max, running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
      },
    };
    await using fixture = await createInProcessToolset({ tools: [tool], rules: { t: { maxConcurrent: 2 } } });
    await Promise.all(Array.from({ length: 8 }, () => fixture.call({})));
    expect(max).toBe(2);
  });

  it("that match no tool are logged once", async () => {
    await using fixture = await createInProcessToolset({
      tools: [echo],
      rules: { ecko: { idempotent: true } },
      options: { tools: { "x_*": {} } },
    });
    expect(fixture.logger.messages).toEqual([
      expect.stringContaining('rule for "ecko"'),
      expect.stringContaining('rule for "x_*"'),
    ]);
  });

  it("require approval, and deny without an onApproval callback", async () => {
    const approvals: unknown[] = [];
    const rules: ToolRules = { echo: { requireApproval: true } };
    await using denied = await createInProcessToolset({ tools: [echo], rules });
    expect(await denied.call({ text: "a", user: "u" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "denied" } },
    });
    const onApproval = ({ args }: { args: Record<string, unknown> }) => {
      approvals.push(args["text"]);
      return args["text"] === "yes";
    };
    await using fixture = await createInProcessToolset({ tools: [echo], rules, options: { onApproval } });
    expect(await fixture.call({ text: "yes", user: "u" })).toMatchObject({ status: "success" });
    expect(await fixture.call({ text: "no", user: "u" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "denied" } },
    });
    expect(approvals).toEqual(["yes", "no"]);
    expect(fixture.server.executions).toHaveLength(1);
  });
});

describe("hooks", () => {
  it("change arguments and results, and receive copies", async () => {
    const args = Object.freeze({ text: "a", user: "u" });
    await using fixture = await createInProcessToolset({
      tools: [echo],
      options: {
        beforeToolCall: (call) => {
          (call.args as Record<string, unknown>)["text"] = "mutated";
          return call.args["text"] === "mutated" ? { args: { text: "changed", user: "u" } } : undefined;
        },
        afterToolCall: ({ result }) => ({
          content: [{ type: "text", text: `${(result.content[0] as { text?: string }).text}!` }],
        }),
      },
    });
    expect((await fixture.call(args)).content).toBe('{"text":"changed","user":"u"}!');
    expect(args.text).toBe("a");
  });

  it("can deny a call", async () => {
    await using fixture = await createInProcessToolset({
      tools: [echo],
      options: {
        beforeToolCall: ({ args }) => (args["text"] === "bad" ? { deny: "not today" } : undefined),
      },
    });
    const message = await fixture.call({ text: "bad", user: "u" });
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    expect(message.content).toContain("not today");
    expect(fixture.server.executions).toEqual([]);
  });

  it("arguments changed by a hook are validated", async () => {
    await using fixture = await createInProcessToolset({
      tools: [echo],
      options: { beforeToolCall: () => ({ args: { text: 7 } }) },
    });
    expect(await fixture.call({ text: "a", user: "u" })).toMatchObject({
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
    await using fixture = await createInProcessToolset({
      tools: [
        {
          name: "t",
          run: () => ({
            content: [{ type: "text", text: "x" }],
            structuredContent: { a: 1 },
            _meta: { b: 2 },
          }),
        },
      ],
    });
    expect(await fixture.call({})).toMatchObject({
      content: "x",
      artifact: {
        structuredContent: { a: 1 },
        meta: { b: 2 },
        isError: false,
        content: [{ type: "text", text: "x" }],
      },
    });
  });

  it("contain structured content with structuredContent: prefer", async () => {
    await using fixture = await createInProcessToolset({
      tools: [structured],
      options: { structuredContent: "prefer" },
    });
    expect((await fixture.call({ n: 1 })).content).toBe('{"n":1}');
  });

  it("that do not match the output schema are logged, or fail the call", async () => {
    await using warned = await createInProcessToolset({ tools: [structured] });
    expect(await warned.call({ n: "x" })).toMatchObject({ status: "success" });
    expect(warned.logger.messages).toEqual([expect.stringContaining("output schema")]);
    await using strict = await createInProcessToolset({
      tools: [structured],
      options: { outputValidation: "error" },
    });
    expect(await strict.call({ n: "x" })).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-response" } },
    });
  });

  it("that are long are truncated for the model, and complete for a direct caller", async () => {
    await using fixture = await createInProcessToolset({
      tools: [{ name: "t", run: () => "x".repeat(500) }],
      options: {
        limits: { contentChars: 100 },
      },
    });
    const { content } = await fixture.call({});
    expect(String(content).startsWith("x".repeat(50))).toBe(true);
    expect(String(content).length).toBeLessThan(200);
    expect(await fixture.tool.invoke({})).toHaveLength(500);
  });
});
