import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  lastGoodResult,
  loadMcpServers,
  McpClient,
  McpRuntimeError,
  parseServers,
} from "../../src/index.js";
import { mcpMiddleware } from "../../src/langchain/index.js";
import { McpToolNode } from "../../src/langgraph/index.js";
import { memoryStore } from "../../src/stores/index.js";
import { McpTestServer } from "../../src/testing/index.js";
import { uipathServers } from "../../src/uipath/index.js";
import { echo } from "../support/clients.js";

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
    expect(failure).toMatchObject({ kind: "definition", message: expect.stringContaining(message) });
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
