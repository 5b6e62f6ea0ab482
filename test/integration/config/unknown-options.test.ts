import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  McpClient,
  parseServers,
} from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import { McpToolNode } from "../../../src/langchain/tool-node.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { fileStore, memoryStore } from "../../../src/stores/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { uipathServers } from "../../../src/uipath/index.js";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

/** Options that TypeScript would reject. */
const untyped = (value: unknown) => value as never;
const NEVER = () => new Promise<never>(() => undefined);

describe("an unknown option is rejected with the option that was meant:", () => {
  const client = () => new McpClient({ name: "test", server: new McpTestServer() });
  const toolset = () => createMcpTools({ test: { server: new McpTestServer() } });
  const manager = () => new McpServerManager({ test: { server: new McpTestServer(), lazy: true } });

  it.each<[name: string, use: () => unknown, suggestion: string]>([
    ["client.callTool", () => client().callTool(echo(), untyped({ timeoutMS: 5 })), "timeoutMs"],
    ["client.callTool's call", () => client().callTool(untyped({ name: "echo", arg: {} })), "args"],
    ["client.callTools", () => client().callTools([echo()], untyped({ concurency: 2 })), "concurrency"],
    ["client.listTools", () => client().listTools(untyped({ onTTLs: () => undefined })), "onTtl"],
    ["client.listPrompts", () => client().listPrompts(untyped({ timeouts: 5 })), "timeoutMs"],
    ["client.readResource", () => client().readResource("a:b", untyped({ signals: null })), "signal"],
    ["client.getPrompt", () => client().getPrompt({ name: "a" }, untyped({ contxt: {} })), "context"],
    ["client.getPrompt's call", () => client().getPrompt(untyped({ name: "a", arg: {} })), "args"],
    ["client.ensureSession", () => client().ensureSession(untyped({ timeoutMS: 5 })), "timeoutMs"],
    ["client.getCapabilities", () => client().getCapabilities(untyped({ contexts: {} })), "context"],
    ["client.getServerInfo", () => client().getServerInfo(untyped({ contexts: {} })), "context"],
    ["client.getInstructions", () => client().getInstructions(untyped({ contexts: {} })), "context"],
    ["client.identityOf", () => client().identityOf(untyped({ purposes: "call" })), "purpose"],
    ["client.on", () => client().on("warning", () => undefined, untyped({ pasive: true })), "passive"],
    ["client.close", () => client().close(untyped({ drainMS: 5 })), "drainMs"],
    ["toolset.close", async () => (await toolset()).close(untyped({ drainMS: 5 })), "drainMs"],
    ["manager.close", () => manager().close(untyped({ drainMS: 5 })), "drainMs"],
    ["McpClient", () => new McpClient({ name: "a", url: "http://a.test" }, untyped({ loger: 1 })), "logger"],
    [
      "toolset.callTool",
      async () => (await toolset()).callTool(echo(), untyped({ timeoutMS: 5 })),
      "timeoutMs",
    ],
    [
      "toolset.callTool's call",
      async () => (await toolset()).callTool(untyped({ name: "echo", argz: {} })),
      "args",
    ],
    [
      "toolset.callTools",
      async () => (await toolset()).callTools([echo()], untyped({ concurrent: 1, configs: {} })),
      "config",
    ],
    [
      "toolset.getResources",
      async () => (await toolset()).getResources(untyped({ server: "test", uri: ["a:b"] })),
      "uris",
    ],
    [
      "toolset.getPrompt",
      async () => (await toolset()).getPrompt({ server: "test", name: "a" }, untyped({ timeoutMS: 5 })),
      "timeoutMs",
    ],
    ["toolset.approveTools", async () => (await toolset()).approveTools(untyped({ server: [] })), "servers"],
    ["mcpMiddleware", async () => mcpMiddleware(await toolset(), untyped({ server: ["test"] })), "servers"],
    [
      "McpToolNode",
      async () => new McpToolNode(await toolset(), untyped({ handleToolError: true })),
      "handleToolErrors",
    ],
    ["manager.reconnect", () => manager().reconnect(untyped({ failedonly: true })), "failedOnly"],
    ["manager.waitFor", () => manager().waitFor("test", untyped({ signals: null })), "signal"],
    ["createMcpTools", () => createMcpTools({}, untyped({ nameing: {} })), "naming"],
    [
      "createMcpToolsForServer",
      () => createMcpToolsForServer({}, untyped({ client: client(), nameing: {} })),
      "naming",
    ],
    ["memoryStore().set", () => memoryStore().set("a", 1, untyped({ ttlMS: 5 })), "ttlMs"],
    ["memoryStore().get", () => memoryStore().get("a", untyped({ sinal: null })), "signal"],
    ["fileStore().list", () => fileStore("unused").list("a", untyped({ signals: null })), "signal"],
    ["startMcpTestServer", () => startMcpTestServer(untyped({ tool: [] })), "tools"],
    ["addFault", () => new McpTestServer().addFault({ type: "hang" }, untyped({ tools: "a" })), "tool"],
    ["uipathServers", () => uipathServers(untyped({ tokens: "secret" })), "token"],
  ])("%s", async (_, use, suggestion) => {
    const failure = await rejection(Promise.resolve().then(use));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.message).toContain(`(did you mean "${suggestion}"?)`);
    expect(failure.message).toContain("valid keys: ");
  });

  it("and nothing is sent", async () => {
    await using server = await startMcpTestServer();
    await using connected = createTestClient(server);
    await rejection(connected.callTool(echo(), untyped({ timeout: 5 })));
    expect(server.requests).toEqual([]);
  });

  it("but a run's whole config is a valid context, and a tool call of a model a valid call", async () => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools({ test: { url: server.url } });
    const context = { configurable: { user: "ann" }, tags: ["a"], metadata: {}, callbacks: [] };
    const call = { ...echo(), type: "tool_call", id: "1" };
    expect((await mcp.clients.test.callTool(call, { context })).text()).toBe("hello");
    expect((await mcp.callTool(call)).text()).toBe("hello");
  });
});

describe("an option of LangChain's adapter gets a hint:", () => {
  const url = "http://localhost:1/mcp";
  it.each<[key: string, use: () => unknown, hint: string]>([
    [
      "prefixToolNameWithServerName",
      () => createMcpTools({}, untyped({ prefixToolNameWithServerName: true })),
      'naming: { prefix: "server" }',
    ],
    [
      "additionalToolNamePrefix",
      () => createMcpTools({}, untyped({ additionalToolNamePrefix: "a" })),
      "naming",
    ],
    ["throwOnLoadError", () => createMcpTools({}, untyped({ throwOnLoadError: false })), "optional: true"],
    [
      "useStandardContentBlocks",
      () => createMcpTools({}, untyped({ useStandardContentBlocks: true })),
      "remove it",
    ],
    ["mcpServers", () => createMcpTools({}, untyped({ mcpServers: {} })), "the first argument"],
    [
      "throwOnLoadError",
      () => createMcpTools(untyped({ mcpServers: { a: { url } }, throwOnLoadError: false })),
      "optional: true",
    ],
    [
      "onToolsListChanged",
      () => createMcpTools({}, untyped({ onToolsListChanged: NEVER })),
      'toolset.on("toolsChanged", …)',
    ],
    ["authProvider", () => parseServers({ a: { url, authProvider: {} } }), "use auth"],
    ["defaultToolTimeout", () => parseServers({ a: { url, defaultToolTimeout: 5 } }), "requestMs"],
    ["reconnect", () => parseServers({ a: { url, reconnect: {} } }), "remove it"],
    ["stderr", () => parseServers({ a: { command: "a", stderr: "inherit" } }), "stderr goes to the log"],
    ["onInitialized", () => createMcpTools({}, untyped({ onInitialized: NEVER })), "sessionOpened"],
    ["onCancelled", () => createMcpTools({}, untyped({ onCancelled: NEVER })), "requestEnded"],
    ["onRootsListChanged", () => createMcpTools({}, untyped({ onRootsListChanged: NEVER })), "option roots"],
    [
      "onInitialized",
      () => createMcpTools(untyped({ mcpServers: { a: { url } }, onInitialized: NEVER })),
      "sessionOpened",
    ],
  ])("%s", async (key, use, hint) => {
    const { kind, message } = await rejection(Promise.resolve().then(use));
    expect(kind).toBe("invalid-config");
    expect(message).toContain(`unknown key "${key}" (`);
    expect(message).toContain(hint);
  });

  it("values of outputHandling", async () => {
    const forAll = await rejection(createMcpTools({}, { outputHandling: untyped("artifact") }));
    expect(forAll.message).toContain('{ image: "artifact", audio: "artifact", resource: "artifact" }');
    const forText = await rejection(createMcpTools({}, { outputHandling: untyped({ text: "artifact" }) }));
    expect(forText.message).toContain("text is always shown to the model");
  });
});

describe("an option in the wrong place is reported with its place:", () => {
  const url = "http://localhost:1/mcp";
  /** The keys that a message lists. */
  async function findValidKeys(use: () => unknown): Promise<string[]> {
    const { message } = await rejection(Promise.resolve().then(use));
    return /; valid keys: (.*)/.exec(message)?.[1]?.split(", ") ?? [];
  }

  it("options of a server, in those of a toolset", async () => {
    const options = untyped({ timeouts: {}, env: {}, tls: {}, url });
    const { issues } = await rejection(createMcpTools({ a: { url } }, options));
    expect(issues).toEqual([
      {
        path: "",
        message:
          'unknown key "timeouts" (an option of a server: { name: { url, timeouts } }), ' +
          '"env" (an option of a server: { name: { command, env } }), ' +
          '"tls" (an option of a server: { name: { url, tls } }), ' +
          '"url" (an option of a server: { name: { url } })',
      },
    ]);
    for (const use of [
      () => createMcpToolsFromAgent({ resources: [] }, untyped({ retry: false })),
      () => new McpServerManager({}, untyped({ retry: false })),
    ])
      expect((await rejection(Promise.resolve().then<unknown>(use))).issues).toEqual([
        { path: "", message: 'unknown key "retry" (an option of a server: { name: { url, retry } })' },
      ]);
  });

  it("options of a toolset, in those of a server", () => {
    const { issues } = catchConfigError(() => parseServers({ a: { url, naming: {}, cache: {} } }));
    expect(issues).toEqual([
      {
        path: "a",
        message:
          'unknown key "naming" (an option of createMcpTools, its second argument), ' +
          '"cache" (an option of createMcpTools, its second argument)',
      },
    ]);
  });

  it("with the valid keys, if another key is unknown, too", async () => {
    const { message } = await rejection(createMcpTools({}, untyped({ timeouts: {}, loger: console })));
    expect(message).toContain('{ name: { url, timeouts } }), "loger" (did you mean "logger"?); valid keys: ');
  });

  it("all of them", async () => {
    const unknown = untyped({ unknownOption: 1 });
    const ofToolset = await findValidKeys(() => createMcpTools({}, unknown));
    const ofServer = [
      ...(await findValidKeys(() => parseServers({ a: { url, unknownOption: 1 } }))),
      ...(await findValidKeys(() => parseServers({ a: { command: "a", unknownOption: 1 } }))),
    ];
    expect(ofToolset.length).toBeGreaterThan(30);
    expect(ofServer.length).toBeGreaterThan(60);
    for (const key of ofToolset.filter((name) => !ofServer.includes(name)))
      expect(() => parseServers({ a: { url, [key]: 1 } })).toThrow(`"${key}" (an option of createMcpTools,`);
    for (const key of ofServer.filter((name) => !ofToolset.includes(name))) {
      const { message } = await rejection(createMcpTools({}, untyped({ [key]: 1 })));
      expect(message).toContain(`"${key}" (an option of a server: {`);
    }
  });
});

describe("{ mcpServers: { … } }", () => {
  it("is accepted by createMcpTools, McpServerManager and parseServers", async () => {
    await using server = await startMcpTestServer();
    const mcpServers = { weather: { url: server.url } };
    await using mcp = await createMcpTools({ mcpServers });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["weather__echo"]);
    expect(mcp.clients.weather.name).toBe("weather");
    expect(new McpServerManager({ mcpServers }).configured).toEqual(["weather"]);
    expect(parseServers({ $schema: "https://example.com/mcp.json", mcpServers })).toEqual(mcpServers);
    expect(parseServers(JSON.stringify({ mcpServers: {} }))).toEqual({});
  });

  it("reports the problems of its servers by name", async () => {
    const { issues } = await rejection(createMcpTools({ mcpServers: { a: untyped({ url: "nope" }) } }));
    expect(issues).toMatchObject([{ path: "a.url" }]);
    const notAnObject = catchConfigError(() => parseServers({ mcpServers: { a: "http://localhost" } }));
    expect(notAnObject.issues).toMatchObject([{ path: "a" }]);
  });

  it("reports its unknown keys together with the problems of its servers", async () => {
    const servers = { mcpServers: { a: { url: "nope" } }, throwOnLoadError: false };
    const { issues } = await rejection(createMcpTools(untyped(servers)));
    expect(issues).toMatchObject([{ path: "" }, { path: "a.url" }]);
  });

  it("may also be a server of that name", () => {
    const servers = { mcpServers: { url: "http://localhost:1/mcp" } };
    expect(new McpServerManager(servers).configured).toEqual(["mcpServers"]);
    expect(new McpServerManager({ mcpServers: { url: servers.mcpServers } }).configured).toEqual(["url"]);
  });
});

describe("the time limits of a call of a toolset", () => {
  const slow = { name: "slow", run: NEVER };

  it("timeoutMs limits an attempt, in place of the tool's rule", async () => {
    await using server = await startMcpTestServer({ tools: [slow] });
    const tools = { slow: { timeoutMs: 600_000 } };
    await using mcp = await createMcpTools({ test: { url: server.url, retry: false, tools } });
    const failure = await rejection(mcp.callTool({ name: "slow" }, { timeoutMs: 50 }));
    expect(failure).toMatchObject({ kind: "timeout", message: expect.stringContaining("50 ms") });
    expect(await mcp.callTools([{ name: "slow" }], { timeoutMs: 40 })).toMatchObject([
      { ok: false, error: { kind: "timeout", message: expect.stringContaining("40 ms") } },
    ]);
    const [tool] = mcp.tools;
    expect(await rejection(Promise.resolve(tool?.run({}, { timeoutMs: 30 })))).toMatchObject({
      kind: "timeout",
      message: expect.stringContaining("30 ms"),
    });
  });

  it("config.timeout limits the whole call, with its retries", async () => {
    await using server = await startMcpTestServer({ tools: [slow] });
    const tools = { slow: { idempotent: true } };
    const retry = { maxRetries: 100, baseDelayMs: 1, maxDelayMs: 1 };
    await using mcp = await createMcpTools({
      test: { url: server.url, retry, circuitBreaker: false, tools },
    });
    const options = { timeoutMs: 20, config: { timeout: 90 } };
    const failure = await rejection(mcp.callTool({ name: "slow" }, options));
    expect(failure.kind).toBe("timeout");
    expect(failure.attempts).toBeLessThan(10);
    expect(await mcp.tryCallTool({ name: "slow" }, { config: { timeout: 20 } })).toMatchObject({
      ok: false,
      error: { kind: "timeout" },
    });
  });

  it("config.timeout and config.signal also limit getResources and getPrompt", async () => {
    await using server = await startMcpTestServer({ prompts: [{ name: "hello", get: () => "hello" }] });
    await using mcp = await createMcpTools({ test: { url: server.url, retry: false } });
    server.addFault({ type: "hang" }, { method: "prompts/get" });
    const call = { server: "test", name: "hello" } as const;
    expect(await rejection(mcp.getPrompt(call, { config: { timeout: 30 } }))).toMatchObject({
      kind: "timeout",
    });
    const reason = new Error("stop");
    const signal = AbortSignal.abort(reason);
    expect(await rejection(mcp.getPrompt(call, { config: { signal } }))).toBe(reason);
    expect(await rejection(mcp.getPrompt(call, { timeoutMs: 30 }))).toMatchObject({ kind: "timeout" });
  });

  it.each([0, -1, Number.NaN, "5s"])("config.timeout cannot be %s", async (timeout) => {
    await using mcp = await createMcpTools({ test: { server: new McpTestServer() } });
    expect(await rejection(mcp.callTool(echo(), { config: { timeout } }))).toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "timeout" }],
    });
  });
});

it.each<[name: string, options: object]>([
  ["a map", new Map([["timeoutMs", 5]])],
  ["an object that cannot be read", new Proxy({}, { ownKeys: () => throwUnreadable() })],
])("%s is rejected as the options of a call", async (_, options) => {
  await using client = new McpClient({ name: "test", server: new McpTestServer() });
  expect(await rejection(client.callTool(echo(), untyped(options)))).toMatchObject({
    kind: "invalid-config",
  });
});

function throwUnreadable(): never {
  throw new Error("not readable");
}

describe("mistakes in two arguments are reported in one error", () => {
  const options = untyped({ loger: console });
  const servers = untyped({ weather: { url: 5 } });

  it.each<[name: string, use: () => unknown, path: string]>([
    ["createMcpTools", () => createMcpTools(servers, options), "weather.url"],
    [
      "createMcpToolsFromAgent",
      () => createMcpToolsFromAgent(untyped({ resources: 5 }), options),
      "resources",
    ],
    ["McpServerManager", () => new McpServerManager(servers, options), "weather.url"],
  ])("%s", async (_, use, path) => {
    const failure = await rejection((async () => use())());
    expect(failure).toMatchObject({ kind: "invalid-config" });
    expect(failure.message).toContain('did you mean "logger"?');
    expect(failure.issues.map((issue) => issue.path)).toEqual(expect.arrayContaining([path]));
  });
});
