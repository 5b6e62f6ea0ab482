import type { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  McpClient,
  type McpToolsOptions,
  type ServerDefinition,
  type ToolRules,
} from "../../../src/index.js";
import { McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { failureOf, gate } from "../../fixtures/clients.js";

const report: TestTool = {
  name: "report",
  inputSchema: {
    type: "object",
    properties: { q: { type: "string" }, user: { type: "string", pattern: "^u-" } },
    required: ["q"],
  },
  run: (args) => JSON.stringify(args),
};

async function setUp(
  tools: readonly TestTool[],
  rules: ToolRules = {},
  options: McpToolsOptions = {},
  more: Partial<ServerDefinition> = {},
) {
  const server = new McpTestServer({ tools });
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const logger = { debug: warn, info: warn, warn, error: warn };
  const definition = { server, tools: rules, ...more } as ServerDefinition;
  const mcp = await createMcpTools({ srv: definition }, { logger, ...options });
  const [tool] = mcp.tools;
  return {
    server,
    mcp,
    tool,
    warnings,
    call: (args: unknown, config: object = {}) =>
      tool?.invoke({ type: "tool_call", id: "1", name: "x", args } as never, config) as Promise<ToolMessage>,
    [Symbol.asyncDispose]: () => mcp.close(),
  };
}

describe("a hidden argument", () => {
  it("is never the model's to give, also when there is nothing to fill in", async () => {
    await using story = await setUp([report], {
      report: { args: { user: ({ configurable }) => configurable["user"] } },
    });
    await story.call({ q: "a", user: "u-admin" });
    expect(story.server.executions[0]?.args).toEqual({ q: "a" });
  });

  it("that does not fit is told without its value, and not as the model's mistake", async () => {
    await using story = await setUp([report], { report: { args: { user: "canary-99" } } });
    const message = await story.call({ q: "a" });
    expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
    expect(JSON.stringify([message, story.warnings, story.tool?.mcp])).not.toContain("canary-99");
    expect(String(message.content)).not.toContain("Correct the arguments");
  });

  it("is hidden wherever the schema names it", async () => {
    const inputSchema = {
      type: "object",
      allOf: [{ $ref: "#/$defs/who" }],
      anyOf: [{ required: ["user"] }],
      $defs: { who: { type: "object", properties: { user: { type: "string" } }, required: ["user"] } },
    };
    await using story = await setUp([{ ...report, inputSchema }], { report: { args: { user: "u-1" } } });
    expect(JSON.stringify(story.tool?.schema)).not.toContain("user");
    await story.call({});
    expect(story.server.executions[0]?.args).toEqual({ user: "u-1" });
  });
});

describe("rules", () => {
  const danger: TestTool = { name: "delete_all", annotations: { readOnlyHint: true }, run: () => "gone" };

  it("of an agent file cannot undo the operator's: an inline server says where it is, and no more", async () => {
    await using server = await startMcpTestServer({ tools: [danger] });
    const inline = (extra: object) => ({
      resources: [
        {
          $resourceType: "mcp",
          name: "x",
          availableTools: [{ name: "delete_all", inputSchema: { type: "object" } }],
          server: { url: server.url, ...extra },
        },
      ],
    });
    for (const extra of [
      { tools: { "*": { requireApproval: false } } },
      { classify: () => undefined },
      { session: { id: "s" } },
    ]) {
      const failure = await failureOf(createMcpToolsFromAgent(inline(extra), { allowInlineServers: true }));
      expect(failure).toMatchObject({
        kind: "invalid-config",
        message: expect.stringContaining("cannot stand in an agent definition"),
      });
    }
    await using mcp = await createMcpToolsFromAgent(inline({}), {
      allowInlineServers: "remote",
      tools: { "delete_*": { requireApproval: true } },
    });
    expect(await failureOf(mcp.callTool({ name: "delete_all" }))).toMatchObject({ kind: "denied" });
  });

  it("cannot come with a server that is looked up, and say so", async () => {
    const agent = {
      resources: [{ $resourceType: "mcp", name: "x", availableTools: [{ name: "t", inputSchema: {} }] }],
    };
    await using mcp = await createMcpToolsFromAgent(agent, {
      servers: () => ({ url: "http://127.0.0.1:1/mcp", tools: { "*": { requireApproval: true } } }),
    });
    expect(await failureOf(mcp.callTool({ name: "t" }))).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("rules cannot come"),
    });
  });

  it("of a client hold for tools that are made on it", async () => {
    await using client = new McpClient({
      name: "c",
      server: new McpTestServer(),
      tools: { "delete_*": false },
    });
    const resource = {
      name: "c",
      availableTools: [
        { name: "delete_all", inputSchema: {} },
        { name: "get", inputSchema: {} },
      ],
    };
    expect(createMcpToolsForServer(resource, { client }).map(({ name }) => name)).toEqual(["get"]);
  });

  it.each([
    [false, "denied"],
    [true, undefined],
  ])("believe a server that its tool only reads where it is trusted: %s", async (trustAnnotations, kind) => {
    await using story = await setUp(
      [danger],
      { "*": { requireApproval: "unless-read-only" } },
      {},
      { trustAnnotations },
    );
    const expected = kind === undefined ? { isError: false } : { error: { kind } };
    expect((await story.call({})).artifact).toMatchObject(expected);
  });

  it("keep their time limit when the run has a longer one", async () => {
    const slow: TestTool = { name: "slow", run: () => new Promise(() => undefined) };
    await using story = await setUp([slow], { slow: { timeoutMs: 50 } });
    expect((await story.call({}, { timeout: 60_000 })).artifact).toMatchObject({
      error: { kind: "timeout" },
    });
  });
});

describe("functions of the user's", () => {
  it("are not quoted to the model when they throw", async () => {
    const beforeToolCall = () => {
      throw new Error("ENOENT /home/me/.secrets http://10.0.0.5:5432");
    };
    await using story = await setUp([report], {}, { beforeToolCall });
    const message = await story.call({ q: "a" });
    expect(String(message.content)).not.toMatch(/home|10\.0\.0\.5/);
    expect(story.warnings.join()).toContain("ENOENT");
    expect(story.server.executions).toEqual([]);
  });

  it("that fail after the call are not told as if it had not run", async () => {
    const afterToolCall = () => {
      throw new Error("no disk");
    };
    await using story = await setUp([report], {}, { afterToolCall });
    const message = await story.call({ q: "a" });
    expect(message).toMatchObject({
      status: "error",
      artifact: { error: { kind: "invalid-response", attempts: 1 } },
    });
    expect(message.content).toContain("ran, but its result cannot be used");
  });

  it.each([
    ["beforeToolCall", { beforeToolCall: () => "x" }],
    ["args", { beforeToolCall: () => ({ args: "x" }) }],
    ["deny", { beforeToolCall: () => ({ deny: false }) }],
    ["headers", { beforeToolCall: () => ({ headers: { a: 1 } }) }],
    ["afterToolCall", { afterToolCall: () => "text" }],
    ["content", { afterToolCall: () => ({ content: [{ text: "no type" }] }) }],
  ])("that give nonsense for %s are their author's to mend", async (_, options) => {
    await using story = await setUp([report], {}, options as never);
    expect(await failureOf(story.call({ q: "a" }))).toMatchObject({ kind: "invalid-config" });
  });

  it.each(["beforeToolCall", "onApproval"] as const)(
    "do not keep a call alive that is no longer wanted: %s",
    async (hook) => {
      const waiting = gate();
      const options = {
        [hook]: () => {
          waiting.open();
          return new Promise<never>(() => undefined);
        },
      };
      await using story = await setUp(
        [report],
        { report: { requireApproval: hook === "onApproval" } },
        options,
      );
      const controller = new AbortController();
      const call = failureOf(story.call({ q: "a" }, { signal: controller.signal }));
      await waiting.opened;
      controller.abort("enough");
      expect(await call).toBe("enough");
      const other = failureOf(story.call({ q: "a" }));
      await story.mcp.close();
      expect(await other).toMatchObject({ kind: "closed" });
    },
  );

  it("that end with their own AbortError when the run is aborted throw the run's reason", async () => {
    const controller = new AbortController();
    const beforeToolCall = async () => {
      controller.abort("enough");
      throw new DOMException("The operation was aborted", "AbortError");
    };
    await using story = await setUp([report], {}, { beforeToolCall });
    expect(await failureOf(story.call({ q: "a" }, { signal: controller.signal }))).toBe("enough");
  });

  it("get copies: neither the tool call nor the tool can be changed through them", async () => {
    const args = { q: "a" };
    const rules = (info: { name: string }) => {
      info.name = "evil";
      return {};
    };
    const beforeToolCall = ({ context }: { context: { config: Record<string, unknown> } }) => {
      (context.config["toolCall"] as { args: { q: string } }).args.q = "evil";
    };
    await using story = await setUp([report], rules as never, { beforeToolCall } as never);
    await story.call(args);
    expect(args.q).toBe("a");
    expect(story.server.executions).toMatchObject([{ tool: "report", args: { q: "a" } }]);
  });

  it.each([
    ["throws", () => Promise.reject(new Error("no"))],
    ["gives no text", () => undefined],
  ])("onFailure that %s leaves the usual words", async (_, onFailure) => {
    await using story = await setUp([report], {}, { onToolError: onFailure as never });
    const message = await story.call({});
    expect(message.content).toContain("q");
    expect(story.warnings.join()).toContain("onFailure");
  });

  it("do not spoil many calls when they throw in one", async () => {
    const beforeToolCall = ({ args }: { args: Record<string, unknown> }) => {
      if (args["q"] === "bad") throw new Error("no");
    };
    await using story = await setUp([report], {}, { beforeToolCall });
    const outcomes = await story.mcp.callTools([
      { name: "report", args: { q: "bad" } },
      { name: "report", args: { q: "good" } },
      null as never,
    ]);
    expect(outcomes.map((outcome) => (outcome.ok ? "ok" : outcome.error.kind))).toEqual([
      "denied",
      "ok",
      "invalid-config",
    ]);
  });
});

describe("what a model is told", () => {
  it("when a tool fails without a word", async () => {
    await using story = await setUp([{ name: "mute", run: () => ({ isError: true, content: [] }) }]);
    expect((await story.call({})).content).toMatch(/^Tool "srv__mute" failed/);
  });

  it.each([
    [{ status: 500, body: "at http://10.1.1.1/internal" }, "The server failed."],
    [
      { status: 404, body: JSON.stringify({ error: { code: -32601, message: "no such tool" } }) },
      "no such tool",
    ],
    [{ status: 405 }, "The server rejected the request."],
    [
      { status: 400, body: JSON.stringify({ error: { code: -32602, message: "city is missing" } }) },
      "Correct the arguments",
    ],
    [{ status: 401 }, "Tell the user."],
    [{ status: 503 }, "may have run all the same"],
    [{ status: 429, headers: { "retry-after": "5" } }, "asks to wait until"],
  ])("of %j", async (fault, expected) => {
    await using server = await startMcpTestServer({ tools: [report] });
    await using mcp = await createMcpTools({ srv: { url: server.url, retry: false } });
    server.addFault({ type: "status", ...fault }, { method: "tools/call" });
    const message = (await mcp.tools[0]?.invoke({
      type: "tool_call",
      id: "1",
      name: "x",
      args: { q: "a" },
    })) as ToolMessage;
    expect(message.content).toContain(expected);
    expect(String(message.content)).not.toMatch(/https?:|127\.0\.0\.1|10\.1\.1\.1|Is the path/);
  });

  it.each([undefined, ""])("a call without an id (%j) is told of its failure, too", async (id) => {
    await using story = await setUp([report]);
    const call = { type: "tool_call", id, name: "x", args: {} } as never;
    expect(await story.tool?.invoke(call)).toMatchObject({ status: "error", tool_call_id: "" });
  });

  it.each([undefined, null])("arguments that are %j are none", async (args) => {
    await using story = await setUp([{ name: "now", run: () => "noon" }]);
    expect((await story.call(args)).content).toBe("noon");
  });
});

describe("names", () => {
  it("that a server forges to meet another's suffix are refused", async () => {
    const options = { naming: { prefix: "none", onCollision: "suffix" } } as const;
    const twin: TestTool = { name: "other", run: () => "" };
    const servers = (extra: readonly TestTool[]) => ({
      a: { server: new McpTestServer({ tools: [twin] }) },
      b: { server: new McpTestServer({ tools: [twin, ...extra] }) },
    });
    await using honest = await createMcpTools(servers([]), options);
    const forged = { name: honest.tools[0]?.name ?? "", run: () => "" };
    expect(await failureOf(createMcpTools(servers([forged]), options))).toMatchObject({
      kind: "invalid-config",
    });
  });
});

describe("options", () => {
  it.each([
    [{ onfailure: "error" }, "onfailure"],
    [{ naming: { prefix: "bogus" } }, 'naming.prefix: expected one of server, none, mcp, found "bogus"'],
    [
      { naming: "none" },
      'naming: expected an object with prefix, invalidCharacters, onCollision, reserved, found "none"',
    ],
    [
      { naming: { prefixes: "none" } },
      "naming.prefixes: is no option; options are prefix, invalidCharacters",
    ],
    [{ naming: { reserved: "search" } }, 'naming.reserved: expected a list of names, found "search"'],
    [{ limits: 5 }, "limits: expected { contentChars }, found a number"],
    [{ limits: { contentChars: 0 } }, "limits.contentChars: expected a whole number from 1"],
    [{ limits: { sockets: 5 } }, "limits.sockets: is no limit of tools"],
    [{ logger: { log: () => undefined } }, "logger: expected an object with debug, info, warn, error"],
    [{ outputHandling: "artifact" }, "outputHandling"],
    [{ outputHandling: { image: "Content" } }, "outputHandling.image"],
    [{ concurrency: 0 }, "concurrency"],
    [null, "expected an object"],
  ])("%j are refused, by name", async (options, message) => {
    const failure = await failureOf(createMcpTools({}, options as never));
    expect(failure).toMatchObject({ kind: "invalid-config", message: expect.stringContaining(message) });
  });

  it("that are undefined were not given", async () => {
    await using mcp = await createMcpTools({ srv: { server: new McpTestServer({ tools: [report] }) } }, {
      naming: { prefix: undefined, onCollision: undefined },
    } as never);
    expect(mcp.tools[0]?.name).toBe("srv__report");
  });
});

describe("an agent's input", () => {
  it("may come with the run", async () => {
    const argumentProperties = {
      "$['user']": { variant: "argument", argumentPath: "who", isSensitive: true },
    };
    const agent = {
      resources: [
        {
          $resourceType: "mcp",
          name: "x",
          availableTools: [{ name: "report", inputSchema: report.inputSchema, argumentProperties }],
        },
      ],
    };
    const server = new McpTestServer({ tools: [report] });
    await using mcp = await createMcpToolsFromAgent(agent, {
      servers: { x: { server } },
      agentInput: { who: "u-1" },
    });
    await mcp.tools[0]?.invoke({ q: "a" });
    await mcp.tools[0]?.invoke({ q: "a" }, { configurable: { agentInput: { who: "u-2" } } });
    expect(server.executions.map(({ args }) => args["user"])).toEqual(["u-1", "u-2"]);
  });

  it("and its optional servers may fail", async () => {
    const agent = {
      resources: [{ $resourceType: "mcp", name: "x", dynamicTools: "all", availableTools: [] }],
    };
    const servers = { x: { url: "http://127.0.0.1:1/mcp", optional: true } };
    await using mcp = await createMcpToolsFromAgent(agent, { servers });
    expect(mcp.status()).toMatchObject({ x: { state: "failed", error: { kind: "not-sent" } } });
  });
});
