import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  lastGoodResult,
  loadMcpServers,
  McpClient,
  McpRuntimeError,
  parseServers,
} from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/langgraph.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { echo } from "../../fixtures/clients.js";

/** A value that a JavaScript caller may pass by mistake. */
const invalid = (value: unknown) => value as never;

const unused = () => new McpClient({ name: "unused", server: new McpTestServer() });

describe("invalid options are reported:", () => {
  it.each<[label: string, use: () => unknown, message: string]>([
    [
      "a promise of servers",
      () => createMcpTools(invalid(loadMcpServers({ project: false }))),
      "expected an object { name: definition }, got a promise (is an await missing?)",
    ],
    ["servers as a map", () => parseServers(new Map()), "{ name: definition }, got an instance of a class"],
    [
      "a client without a name",
      () => new McpClient(invalid({ url: "http://localhost:1/mcp" })),
      "The server is not valid:\n  name: expected a non-empty name, got undefined",
    ],
    [
      "a bigint as name",
      () => new McpClient(invalid({ name: 5n, url: "http://localhost:1/mcp" })),
      "name: expected a non-empty name, got a bigint",
    ],
    [
      "null as server definition",
      () => new McpClient(invalid(null)),
      "The server is not valid:\n  expected an object",
    ],
    [
      "null as client options",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, invalid(null)),
      "The client is not valid:\n  options: expected an object, got null",
    ],
    ["a number as calls", () => unused().callTools(invalid(5)), "an array of { name, args }, got a number"],
    [
      "null as options of callTools",
      () => unused().callTools([], invalid(null)),
      "expected an object, got null",
    ],
    ["null as options of callTool", () => unused().callTool(echo(), invalid(null)), "an object, got null"],
    ["null as options of listTools", () => unused().listTools(invalid(null)), "an object, got null"],
    ["null as options of ensureSession", () => unused().ensureSession(invalid(null)), "an object, got null"],
    [
      "null as options of subscribeResource",
      () => unused().subscribeResource("a:1", invalid(null)),
      "an object, got null",
    ],
    [
      "null as caller context",
      () => unused().callTool(echo(), { context: invalid(null) }),
      "an object, got null",
    ],
    ["null as options of ping", () => unused().ping(invalid(null)), "options: expected an object, got null"],
    [
      "null as options of readResource",
      () => unused().readResource("a:1", invalid(null)),
      "options: expected an object, got null",
    ],
    [
      "null as options of getPrompt",
      () => unused().getPrompt({ name: "p" }, invalid(null)),
      "options: expected an object, got null",
    ],
    [
      "a promise of options",
      () => unused().ping(invalid(Promise.resolve({}))),
      "options: expected an object, got a promise (is an await missing?)",
    ],
    [
      "a promise of arguments",
      () => unused().callTool({ name: "echo", args: invalid(Promise.resolve({})) }),
      'The arguments of tool "echo" must be an object, got a promise (is an await missing?).',
    ],
    [
      "null as options of a listener",
      () => unused().on("warning", () => undefined, invalid(null)),
      "The listener is not valid:\n  options: expected an object, got null",
    ],
    [
      "an unknown event",
      () => unused().on(invalid("warnings"), () => undefined),
      'Unknown event "warnings"; valid events:',
    ],
    [
      "a string instead of a boolean",
      () => unused().callTool(echo(), { idempotent: invalid("no") }),
      'The call of tool "echo" is not valid:\n  idempotent: expected true or false, got "no"',
    ],
    [
      "invalid headers",
      () => unused().callTool(echo(), { headers: { "x-user": "ann\nbob" } }),
      "headers.x-user: header values must not contain line breaks or control characters",
    ],
    [
      "a clock without methods",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, { clock: invalid({}) }),
      "The client is not valid:\n  clock: expected an object with now, after, got an object",
    ],
    [
      "null as options of manager.connect",
      () => new McpServerManager().connect(invalid(null)),
      "The call to connect is not valid:\n  options: expected an object, got null",
    ],
    [
      "null as options of store.get",
      () => memoryStore().get("a", invalid(null)),
      "expected an object, got null",
    ],
    ["null as options of close", () => unused().close(invalid(null)), "an object, got null"],
    [
      "an unknown log level",
      () => unused().setLogLevel(invalid("loud")),
      'expected one of debug, info, notice, warning, error, critical, alert, emergency, got "loud"',
    ],
    [
      "a string as agent resource",
      () => createMcpToolsForServer("docs", { client: unused() }),
      'The agent resource is not valid:\n  expected an object, got "docs"',
    ],
    [
      "an invalid agent resource",
      () => createMcpToolsForServer({ name: "docs", availableTools: 5 }, { client: unused() }),
      "The agent resource is not valid:\n  availableTools: expected an array, got a number",
    ],
    [
      "missing options",
      () => createMcpToolsForServer({}, invalid(undefined)),
      "expected an object, got undefined",
    ],
    [
      "a missing client",
      () => createMcpToolsForServer({}, invalid({})),
      "client: expected an McpClient, got undefined",
    ],
    [
      "tools instead of a toolset",
      () => mcpMiddleware(invalid([])),
      "mcpMiddleware needs a toolset, as returned by",
    ],
    ["a promise of a toolset", () => new McpToolNode(invalid(Promise.resolve())), "(is an await missing?)"],
    [
      "a fallback without an age",
      () => lastGoodResult(invalid({})),
      "maxAgeMs: expected a number of at least 0",
    ],
    [
      "null as fallback options",
      () => lastGoodResult(invalid(null)),
      "maxAgeMs: expected a number of at least 0",
    ],
    ["null as UiPath options", () => uipathServers(invalid(null)), "expected an object, got null"],
    [
      "null as store options",
      () => memoryStore(invalid(null)),
      "The memory store is not valid:\n  expected an object of",
    ],
    ["null as signal", () => unused().callTool(echo(), { signal: invalid(null) }), "got null."],
    ["a number as signal", () => unused().callTool(echo(), { signal: invalid(5) }), "must be an AbortSignal"],
  ])("%s", async (_, use, message) => {
    const failure: unknown = await Promise.resolve()
      .then(use)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(McpRuntimeError);
    expect(failure).toMatchObject({ kind: "invalid-config", message: expect.stringContaining(message) });
  });

  it("an invalid output schema, before the tool runs", async () => {
    const server = new McpTestServer();
    await using client = new McpClient({ name: "test", server });
    const output = invalid({ type: "object" });
    await expect(client.callTool(echo(), { output })).rejects.toMatchObject({
      kind: "invalid-config",
      issues: [
        { path: "output", message: "expected a Standard Schema, such as a zod schema, got an object" },
      ],
    });
    expect(server.executions).toEqual([]);
  });

  it("null as options of toolset methods", async () => {
    await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
    const calls = {
      callTool: () => mcp.callTool(echo(), invalid(null)),
      callTools: () => mcp.callTools([echo()], invalid(null)),
      approveTools: () => mcp.approveTools(invalid(null)),
      getResources: () => mcp.getResources({ server: "test" }, invalid(null)),
      getPrompt: () => mcp.getPrompt({ server: "test", name: "p" }, invalid(null)),
    };
    for (const [name, call] of Object.entries(calls))
      await expect(call()).rejects.toMatchObject({
        kind: "invalid-config",
        message: `The call to ${name} is not valid:\n  options: expected an object, got null`,
      });
    await expect(mcp.callTool(echo(), { config: invalid(Promise.resolve({})) })).rejects.toMatchObject({
      issues: [{ path: "config", message: expect.stringContaining("is an await missing?") }],
    });
    await expect(mcp.approveTools({ servers: invalid("test") })).rejects.toMatchObject({
      issues: [{ path: "servers", message: 'expected an array, got "test"' }],
    });
  });

  it("invalid arguments of toolset methods", async () => {
    await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
    const calls = [
      mcp.toolsFor(invalid(undefined)),
      mcp.refresh(invalid(null)),
      mcp.callTools(invalid("echo")),
    ];
    const failures = await Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
    expect(failures.map((failure) => (failure as McpRuntimeError).message)).toEqual([
      expect.stringContaining("config: expected a run config, { configurable: { … } }, got undefined"),
      expect.stringContaining("config: expected a run config, { configurable: { … } }, got null"),
      expect.stringContaining('expected an array of { name, args }, got "echo"'),
    ]);
  });
});
