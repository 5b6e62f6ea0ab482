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
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { echo } from "../../fixtures/clients.js";

/** A value that a JavaScript caller may pass by mistake. */
const invalid = (value: unknown) => value as never;

/** The error has a single issue, at this path. */
const issueAt = (path: string, message: unknown = expect.any(String)) => ({ issues: [{ path, message }] });
const AWAIT_HINT: unknown = expect.stringContaining("await");
const INVALID_SIGNAL = { message: expect.stringContaining("AbortSignal") };

const unused = () => new McpClient({ name: "unused", server: new McpTestServer() });

describe("invalid options are reported:", () => {
  it.each<[label: string, use: () => unknown, expected: object]>([
    ["a promise of servers", () => createMcpTools(invalid(Promise.resolve({}))), issueAt("", AWAIT_HINT)],
    ["servers as a map", () => parseServers(new Map()), issueAt("")],
    [
      "a client without a name",
      () => new McpClient(invalid({ url: "http://localhost:1/mcp" })),
      issueAt("name"),
    ],
    [
      "a bigint as name",
      () => new McpClient(invalid({ name: 5n, url: "http://localhost:1/mcp" })),
      issueAt("name"),
    ],
    ["null as server definition", () => new McpClient(invalid(null)), issueAt("")],
    [
      "null as client options",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, invalid(null)),
      issueAt("options"),
    ],
    ["a number as calls", () => unused().callTools(invalid(5)), issueAt("")],
    ["null as options of callTools", () => unused().callTools([], invalid(null)), issueAt("options")],
    ["null as options of callTool", () => unused().callTool(echo(), invalid(null)), issueAt("options")],
    ["null as options of listTools", () => unused().listTools(invalid(null)), issueAt("options")],
    ["null as options of ensureSession", () => unused().ensureSession(invalid(null)), issueAt("options")],
    [
      "null as options of subscribeResource",
      () => unused().subscribeResource("a:1", invalid(null)),
      issueAt("options"),
    ],
    [
      "null as caller context",
      () => unused().callTool(echo(), { context: invalid(null) }),
      issueAt("context"),
    ],
    ["null as options of ping", () => unused().ping(invalid(null)), issueAt("options")],
    [
      "null as options of readResource",
      () => unused().readResource("a:1", invalid(null)),
      issueAt("options"),
    ],
    [
      "null as options of getPrompt",
      () => unused().getPrompt({ name: "p" }, invalid(null)),
      issueAt("options"),
    ],
    [
      "a promise of options",
      () => unused().ping(invalid(Promise.resolve({}))),
      issueAt("options", AWAIT_HINT),
    ],
    [
      "a promise of arguments",
      () => unused().callTool({ name: "echo", args: invalid(Promise.resolve({})) }),
      { message: AWAIT_HINT },
    ],
    [
      "null as options of a listener",
      () => unused().on("warning", () => undefined, invalid(null)),
      issueAt("options"),
    ],
    [
      "an unknown event",
      () => unused().on(invalid("warnings"), () => undefined),
      { message: expect.stringContaining("Unknown event") },
    ],
    [
      "a string instead of a boolean",
      () => unused().callTool(echo(), { idempotent: invalid("no") }),
      issueAt("idempotent"),
    ],
    [
      "invalid headers",
      () => unused().callTool(echo(), { headers: { "x-user": "ann\nbob" } }),
      issueAt("headers.x-user"),
    ],
    [
      "a clock without methods",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, { clock: invalid({}) }),
      issueAt("clock"),
    ],
    [
      "null as options of manager.connect",
      () => new McpServerManager().connect(invalid(null)),
      issueAt("options"),
    ],
    ["null as options of store.get", () => memoryStore().get("a", invalid(null)), issueAt("options")],
    ["null as options of close", () => unused().close(invalid(null)), issueAt("options")],
    ["an unknown log level", () => unused().setLogLevel(invalid("loud")), issueAt("")],
    ["a string as agent resource", () => createMcpToolsForServer("docs", { client: unused() }), issueAt("")],
    [
      "an invalid agent resource",
      () => createMcpToolsForServer({ name: "docs", availableTools: 5 }, { client: unused() }),
      issueAt("availableTools"),
    ],
    ["missing options", () => createMcpToolsForServer({}, invalid(undefined)), issueAt("")],
    ["a missing client", () => createMcpToolsForServer({}, invalid({})), issueAt("client")],
    [
      "tools instead of a toolset",
      () => mcpMiddleware(invalid([])),
      { message: expect.stringContaining("needs a toolset") },
    ],
    ["a promise of a toolset", () => new McpToolNode(invalid(Promise.resolve())), { message: AWAIT_HINT }],
    [
      "an unknown mode of tool search",
      async () => {
        await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
        mcpMiddleware(mcp, { disclosure: invalid("serch") });
      },
      issueAt("disclosure", expect.stringContaining('got "serch"')),
    ],
    [
      "an unknown type of fault",
      () => new McpTestServer().addFault(invalid({ type: "hand" })),
      issueAt("type"),
    ],
    [
      "a disconnect at an unknown time",
      () => new McpTestServer().addFault(invalid({ type: "disconnect" })),
      issueAt("when"),
    ],
    [
      "a misspelled field of a fault",
      () => new McpTestServer().addFault(invalid({ type: "status", status: 503, header: {} })),
      issueAt("", expect.stringContaining('"header" (did you mean "headers"?)')),
    ],
    [
      "an unknown answer to lost sessions",
      () => new McpTestServer().dropSessions(invalid("404")),
      issueAt("answer"),
    ],
    [
      "an invalid option of tool search",
      async () => {
        await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
        mcpMiddleware(mcp, { disclosure: { maxTokens: invalid("many") } });
      },
      issueAt("disclosure.maxTokens"),
    ],
    [
      "a store in place of cache options",
      () => createMcpTools({ test: { server: new McpTestServer() } }, { cache: invalid(memoryStore()) }),
      issueAt("cache", "expected an object, got a store; write { store }"),
    ],
    [
      "a store that is a plain object in place of cache options",
      () => createMcpTools({}, { cache: invalid({ get: () => 1, set: () => 1, delete: () => 1 }) }),
      issueAt("cache", "expected an object, got a store; write { store }"),
    ],
    [
      "an address in place of cache options",
      () => createMcpTools({}, { cache: invalid("redis://localhost") }),
      issueAt("cache", "expected an object such as { store: redisStore(…) }, got a string"),
    ],
    [
      "a prefix in place of naming options",
      () => createMcpTools({}, { naming: invalid("none") }),
      issueAt("naming", 'expected an object such as { prefix: "none" }, got a string'),
    ],
    [
      "a path in place of options of loadMcpServers",
      () => loadMcpServers(invalid("mcp.json")),
      issueAt("", 'expected an object such as { files: [".mcp.json"] }, got a string'),
    ],
    [
      "no concurrency",
      () => createMcpTools({}, { concurrency: 0 }),
      issueAt("concurrency", "expected a whole number above 0, got 0"),
    ],
    [
      "a fraction as concurrency",
      () => createMcpTools({}, { concurrency: 1.5 }),
      issueAt("concurrency", "expected a whole number above 0, got 1.5"),
    ],
    [
      "a negative time",
      () => createMcpTools({}, { startupWaitMs: -1 }),
      issueAt("startupWaitMs", "expected a number of milliseconds, got -1"),
    ],
    [
      "a store in place of session options",
      () => parseServers({ test: { url: "http://localhost:1/mcp", session: memoryStore() } }),
      issueAt("test.session"),
    ],
    [
      "a custom transport without methods",
      () => new McpClient({ name: "test", openTransport: () => invalid({}) }).listTools(),
      issueAt("openTransport", expect.stringContaining("start(), send(), close()")),
    ],
    ["a fallback without an age", () => lastGoodResult(invalid({})), issueAt("maxAgeMs")],
    ["null as fallback options", () => lastGoodResult(invalid(null)), issueAt("maxAgeMs")],
    ["null as UiPath options", () => uipathServers(invalid(null)), issueAt("")],
    ["null as store options", () => memoryStore(invalid(null)), issueAt("")],
    ["null as signal", () => unused().callTool(echo(), { signal: invalid(null) }), INVALID_SIGNAL],
    ["a number as signal", () => unused().callTool(echo(), { signal: invalid(5) }), INVALID_SIGNAL],
  ])("%s", async (_, use, expected) => {
    const failure: unknown = await Promise.resolve()
      .then(use)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(McpRuntimeError);
    expect(failure).toMatchObject({ kind: "invalid-config", ...expected });
  });

  it("an invalid output schema, before the tool runs", async () => {
    const server = new McpTestServer();
    await using client = new McpClient({ name: "test", server });
    const output = invalid({ type: "object" });
    await expect(client.callTool(echo(), { output })).rejects.toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "output" }],
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
        issues: [{ path: "options" }],
        message: expect.stringContaining(name),
      });
    await expect(mcp.callTool(echo(), { config: invalid(Promise.resolve({})) })).rejects.toMatchObject({
      issues: [{ path: "config", message: AWAIT_HINT }],
    });
    await expect(mcp.approveTools({ servers: invalid("test") })).rejects.toMatchObject({
      issues: [{ path: "servers" }],
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
    expect(failures).toMatchObject([
      { kind: "invalid-config", issues: [{ path: "config" }] },
      { kind: "invalid-config", issues: [{ path: "config" }] },
      { kind: "invalid-config", issues: [{ path: "" }] },
    ]);
  });
});
