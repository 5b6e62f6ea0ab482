import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  lastGoodResult,
  loadMcpServers,
  McpClient,
  McpRuntimeError,
  McpServerManager,
  parseServers,
} from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/langgraph.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { echo } from "../../fixtures/clients.js";

/** A slip of whoever writes plain JavaScript. */
const wrong = (value: unknown) => value as never;

const unused = () => new McpClient({ name: "unused", server: new McpTestServer() });

describe("what cannot be used is told in our words:", () => {
  it.each<[label: string, use: () => unknown, message: string]>([
    [
      "servers that are still on their way",
      () => createMcpTools(wrong(loadMcpServers({ project: false }))),
      "expected an object { name: definition }, found a promise (is an await missing?)",
    ],
    ["servers as a map", () => parseServers(new Map()), "{ name: definition }, found an instance of a class"],
    [
      "a client without a name",
      () => new McpClient(wrong({ url: "http://localhost:1/mcp" })),
      "The server is not valid:\n  name: expected a name that is not empty, found nothing",
    ],
    [
      "a name that is no JSON either",
      () => new McpClient(wrong({ name: 5n, url: "http://localhost:1/mcp" })),
      "name: expected a name that is not empty, found a bigint",
    ],
    [
      "a client of nothing",
      () => new McpClient(wrong(null)),
      "The server is not valid:\n  expected an object",
    ],
    [
      "a client with options of nothing",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, wrong(null)),
      "The client is not valid:\n  options: expected an object, found null",
    ],
    ["calls that are none", () => unused().callTools(wrong(5)), "a list of { name, args }, found a number"],
    [
      "calls with options of nothing",
      () => unused().callTools([], wrong(null)),
      "expected an object, found null",
    ],
    ["a call with options of nothing", () => unused().callTool(echo(), wrong(null)), "an object, found null"],
    ["a list with options of nothing", () => unused().listTools(wrong(null)), "an object, found null"],
    ["a session with options of nothing", () => unused().ensureSession(wrong(null)), "an object, found null"],
    [
      "a subscription with options of nothing",
      () => unused().subscribeResource("a:1", wrong(null)),
      "an object, found null",
    ],
    [
      "a caller of nothing",
      () => unused().callTool(echo(), { context: wrong(null) }),
      "an object, found null",
    ],
    [
      "a ping with options of nothing",
      () => unused().ping(wrong(null)),
      "options: expected an object, found null",
    ],
    [
      "a reading with options of nothing",
      () => unused().readResource("a:1", wrong(null)),
      "options: expected an object, found null",
    ],
    [
      "a prompt with options of nothing",
      () => unused().getPrompt({ name: "p" }, wrong(null)),
      "options: expected an object, found null",
    ],
    [
      "options that are still on their way",
      () => unused().ping(wrong(Promise.resolve({}))),
      "options: expected an object, found a promise (is an await missing?)",
    ],
    [
      "arguments that are still on their way",
      () => unused().callTool({ name: "echo", args: wrong(Promise.resolve({})) }),
      'The arguments of tool "echo" must be an object, found a promise (is an await missing?).',
    ],
    [
      "a listener with options of nothing",
      () => unused().on("warning", () => undefined, wrong(null)),
      "The listener is not valid:\n  options: expected an object, found null",
    ],
    [
      "an event that there is none of",
      () => unused().on(wrong("warnings"), () => undefined),
      'There is no event "warnings"; there are',
    ],
    [
      "a word in the place of true or false",
      () => unused().callTool(echo(), { idempotent: wrong("no") }),
      'The call of tool "echo" is not valid:\n  idempotent: expected true or false, found "no"',
    ],
    [
      "headers that cannot be sent",
      () => unused().callTool(echo(), { headers: { "x-user": "ann\nbob" } }),
      "headers.x-user: a header value has no line breaks or control characters",
    ],
    [
      "a clock that does not tell the time",
      () => new McpClient({ name: "unused", server: new McpTestServer() }, { clock: wrong({}) }),
      "The client is not valid:\n  clock: expected an object with now, after, found an object",
    ],
    [
      "a manager that is asked with options of nothing",
      () => new McpServerManager().connect(wrong(null)),
      "The call of connect is not valid:\n  options: expected an object, found null",
    ],
    [
      "a store's use with options of nothing",
      () => memoryStore().get("a", wrong(null)),
      "expected an object, found null",
    ],
    ["an end with options of nothing", () => unused().close(wrong(null)), "an object, found null"],
    [
      "a log level that is none",
      () => unused().setLogLevel(wrong("loud")),
      'expected one of debug, info, notice, warning, error, critical, alert, emergency, found "loud"',
    ],
    [
      "a resource that is none",
      () => createMcpToolsForServer("docs", { client: unused() }),
      'The agent resource is not valid:\n  expected an object, found "docs"',
    ],
    [
      "a resource with something wrong in it",
      () => createMcpToolsForServer({ name: "docs", availableTools: 5 }, { client: unused() }),
      "The agent resource is not valid:\n  availableTools: expected a list, found a number",
    ],
    [
      "no options at all",
      () => createMcpToolsForServer({}, wrong(undefined)),
      "expected an object, found nothing",
    ],
    [
      "no client",
      () => createMcpToolsForServer({}, wrong({})),
      "client: expected an McpClient, found nothing",
    ],
    ["tools for a toolset", () => mcpMiddleware(wrong([])), "mcpMiddleware needs a toolset, which"],
    ["a promise of a toolset", () => new McpToolNode(wrong(Promise.resolve())), "(is an await missing?)"],
    ["a fallback of any age", () => lastGoodResult(wrong({})), "maxAgeMs: expected a number of at least 0"],
    ["a fallback of nothing", () => lastGoodResult(wrong(null)), "maxAgeMs: expected a number of at least 0"],
    ["a platform that is none", () => uipathServers(wrong(null)), "expected an object, found null"],
    [
      "a store of nothing",
      () => memoryStore(wrong(null)),
      "The memory store is not valid:\n  expected an object of",
    ],
    ["a signal of nothing", () => unused().callTool(echo(), { signal: wrong(null) }), "found null."],
    [
      "a signal that is none",
      () => unused().callTool(echo(), { signal: wrong(5) }),
      "has to be an AbortSignal",
    ],
  ])("%s", async (_, use, message) => {
    const failure: unknown = await Promise.resolve()
      .then(use)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(McpRuntimeError);
    expect(failure).toMatchObject({ kind: "invalid-config", message: expect.stringContaining(message) });
  });

  it("a schema for the output that is none, before the tool has run", async () => {
    const server = new McpTestServer();
    await using client = new McpClient({ name: "test", server });
    const output = wrong({ type: "object" });
    await expect(client.callTool(echo(), { output })).rejects.toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "output", message: "expected a schema, such as one of zod, found an object" }],
    });
    expect(server.executions).toEqual([]);
  });

  it("options of nothing for a toolset", async () => {
    await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
    const asked = {
      callTool: () => mcp.callTool(echo(), wrong(null)),
      callTools: () => mcp.callTools([echo()], wrong(null)),
      approveTools: () => mcp.approveTools(wrong(null)),
      getResources: () => mcp.getResources({ server: "test" }, wrong(null)),
      getPrompt: () => mcp.getPrompt({ server: "test", name: "p" }, wrong(null)),
    };
    for (const [name, ask] of Object.entries(asked))
      await expect(ask()).rejects.toMatchObject({
        kind: "invalid-config",
        message: `The call of ${name} is not valid:\n  options: expected an object, found null`,
      });
    await expect(mcp.callTool(echo(), { config: wrong(Promise.resolve({})) })).rejects.toMatchObject({
      issues: [{ path: "config", message: expect.stringContaining("is an await missing?") }],
    });
    await expect(mcp.approveTools({ servers: wrong("test") })).rejects.toMatchObject({
      issues: [{ path: "servers", message: 'expected a list, found "test"' }],
    });
  });

  it("what a toolset is asked", async () => {
    await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
    const asked = [mcp.toolsFor(wrong(undefined)), mcp.refresh(wrong(null)), mcp.callTools(wrong("echo"))];
    const failures = await Promise.all(asked.map((one) => one.catch((error: unknown) => error)));
    expect(failures.map((failure) => (failure as McpRuntimeError).message)).toEqual([
      expect.stringContaining("config: expected the config of a run, { configurable: { … } }, found nothing"),
      expect.stringContaining("config: expected the config of a run, { configurable: { … } }, found null"),
      expect.stringContaining('expected a list of { name, args }, found "echo"'),
    ]);
  });
});
