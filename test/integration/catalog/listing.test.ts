import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, type McpClient } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { createTestClient, eventually, rejection, times, recordWarnings } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { INITIALIZE_RESULT, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const TASKS = { requests: { tools: { call: {} } } };
const tool = (name: string): TestTool => ({ name, run: () => name });

describe.each(ERAS)("the tools of a server (%s)", (era) => {
  it("are collected from all pages, sorted by name", async () => {
    const names = ["b", "a", "Z", "c", "é"];
    await using server = await startEraServer(era, {
      tools: names.map(tool),
      pagination: { type: "pages", size: 2 },
    });
    await using client = createTestClient(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["Z", "a", "b", "c", "é"]);
    expect(server.received("tools/list")).toHaveLength(3);
  });

  it("are never incomplete: a failing page fails the listing", async () => {
    await using server = await startEraServer(era, {
      tools: times(8, (n) => tool(`t${n}`)),
      pagination: { type: "pages", size: 2, failingPage: 3 },
    });
    await using client = createTestClient(server);
    expect(await rejection(client.listTools())).toMatchObject({ kind: "server-error", code: -32603 });
    server.pagination = { type: "pages", size: 2 };
    expect(await client.listTools()).toHaveLength(8);
  });

  it("fail above the limit", async () => {
    await using server = await startEraServer(era, { tools: times(11, (n) => tool(`t${n}`)) });
    await using client = createTestClient(server, { limits: { tools: 10 } });
    expect(await rejection(client.listTools())).toMatchObject({ kind: "too-large" });
  });

  it("exclude only malformed ones, with a warning", async () => {
    await using server = await startEraServer(era, {
      tools: [tool("good"), tool("twice")],
      malformedTools: [
        null,
        { inputSchema: { type: "object" } },
        { name: "no-schema" },
        { name: "list\u202e-schema", inputSchema: [] },
        { name: "string-schema", inputSchema: { type: "string" } },
        { name: "twice", inputSchema: { type: "object" } },
        {
          name: "odd",
          title: 7,
          description: ["no text"],
          annotations: "none",
          icons: "none",
          inputSchema: {},
        },
      ],
    });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["good", "odd", "twice"]);
    expect(tools[1]).toEqual({ name: "odd", inputSchema: {} });
    await eventually(() => warnings.length === 6);
    expect(warnings).toEqual([
      'Server "test": a tool is not an object and is skipped.',
      'Server "test": a tool has no name and is skipped.',
      'Server "test": tool "no-schema" has no inputSchema that describes an object and is skipped.',
      'Server "test": tool "list-schema" has no inputSchema that describes an object and is skipped.',
      'Server "test": tool "string-schema" has no inputSchema that describes an object and is skipped.',
      'Server "test": tool "twice" is listed twice; the first one is used.',
    ]);
  });

  it("lose large icons, annotations and _meta, with a warning", async () => {
    const src = "x".repeat(1_100_000);
    const plain = { inputSchema: { type: "object" } };
    await using server = await startEraServer(era, {
      tools: [tool("good")],
      malformedTools: [
        { ...plain, name: "icons", icons: [{ src }] },
        { ...plain, name: "others", annotations: { src }, _meta: { src, ui: { visibility: ["app"] } } },
      ],
      resources: [],
    });
    const resources = [{ uri: "file:///a", name: "a", icons: [{ src }] }];
    server.addFault({ type: "result", result: { resources } }, { method: "resources/list" });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    expect(await client.listTools()).toMatchObject([
      { name: "good" },
      { name: "icons" },
      { name: "others", meta: { ui: { visibility: ["app"] } } },
    ]);
    await client.listResources();
    await eventually(() => warnings.length >= 3);
    expect(warnings).toEqual([
      'Server "test": tool "icons" has more than 1048576 characters of icons, which are not used.',
      'Server "test": tool "others" has more than 1048576 characters of annotations and _meta, which are not used.',
      'Server "test": resource "a" has more than 1048576 characters of icons, which are not used.',
    ]);
  });

  it("can have any name", async () => {
    const names = ["__proto__", "constructor", "", "with space", "toString"];
    await using server = await startEraServer(era, { tools: names.map(tool) });
    await using client = createTestClient(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(names.toSorted());
    for (const name of names) expect((await client.callTool({ name })).text()).toBe(name);
    expect(({} as { run?: unknown }).run).toBeUndefined();
  });

  it("that are not an array are an invalid response", async () => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server);
    server.addFault({ type: "result", result: { tools: "none" } }, { method: "tools/list" });
    expect(await rejection(client.listTools())).toMatchObject({ kind: "invalid-response" });
  });
});

describe("the tools of a server", () => {
  it("cause at most five warnings at a start, and one with the number of the others", async () => {
    const patterns = times(8, (n) => ({
      ...tool(`t${n}`),
      inputSchema: {
        type: "object" as const,
        properties: { a: { type: "string", pattern: "(a)\\1", $ref: `https://example.com/${n}` } },
      },
    }));
    await using server = await startMcpTestServer({
      tools: patterns,
      malformedTools: times(4, (n) => ({ name: `broken${n}` })),
    });
    await using other = await startMcpTestServer({ tools: [], malformedTools: [{ name: "broken" }] });
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ a: { url: server.url }, b: { url: other.url } }, { logger });
    for (const { schema } of mcp.tools) expect(schema).toBeDefined();
    const linesOf = (level: string) =>
      logger.lines.filter((line) => line.startsWith(level) && line.includes('Server "a"'));
    const summary = /^warn: Server "a": (\d+) more warnings\. The log level "debug" shows them all\.$/;
    await eventually(() => summary.test(linesOf("warn").at(-1) ?? ""));
    const warnings = linesOf("warn");
    expect(warnings).toHaveLength(6);
    expect(warnings.filter((line) => line.includes("broken"))).toHaveLength(4);
    const omitted = Number(summary.exec(warnings.at(-1) ?? "")?.[1]);
    expect(omitted).toBeGreaterThanOrEqual(7);
    expect(linesOf("debug")).toHaveLength(omitted);
    expect(logger.warnings.filter((line) => line.includes('Server "b": tool "broken"'))).toHaveLength(1);
  });

  it("of 2025-11-25 include those that can only be called as tasks", async () => {
    const declared = (name: string, taskSupport: string) => ({
      name,
      inputSchema: { type: "object" },
      execution: { taskSupport },
    });
    await using server = await startMcpTestServer({
      tools: [tool("plain")],
      malformedTools: [declared("export", "required"), declared("search", "optional")],
    });
    await using mcp = await createMcpTools({ jobs: { url: server.url } }, { logger: new RecordingLogger() });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["jobs__export", "jobs__plain", "jobs__search"]);
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    await client.listTools();
    expect(warnings).toEqual([]);
  });
});

describe("a server that lists other tools each time", () => {
  it("does not fill the memory with their names: those that are too long are skipped", async () => {
    await using server = await startMcpTestServer({ tools: [tool("a"), tool("b".repeat(1_025))] });
    await using client = createTestClient(server);
    const warnings = recordWarnings(client);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["a"]);
    expect(warnings.join()).toContain("has a name of more than 1024 characters and is skipped");
  });

  it("does not fill the memory with its tools that are called as tasks", async () => {
    let names = ["first"];
    const tasks: unknown[] = [];
    await using server = await startRawServer(({ method, id, body, response }) => {
      const execution = { taskSupport: "required" };
      if (method === "initialize")
        sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { tools: {}, tasks: TASKS } });
      else if (method === "tools/list")
        sendJson(response, id, {
          tools: names.map((name) => ({ name, inputSchema: { type: "object" }, execution })),
        });
      else {
        if (method === "tools/call") tasks.push((body["params"] as { task: unknown }).task);
        return false;
      }
      return;
    });
    await using client = createTestClient(server);
    await client.listTools();
    await client.callTool({ name: "first" });
    names = times(10_000, (index) => `other-${index}`);
    await client.listTools();
    await client.callTool({ name: "first" });
    await client.callTool({ name: "other-0" });
    expect(tasks).toEqual([{}, undefined, {}]);
  });
});

describe("the lists of many users", () => {
  it.each([
    ["large ones are kept for 16 users", 1_100_000, 1],
    ["others for all", 1_000, 0],
  ])("are cached: %s", async (_, length, relisted) => {
    let lists = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      lists += 1;
      const description = "x".repeat(length);
      return sendJson(response, id, { tools: [{ name: "a", description, inputSchema: {} }] });
    });
    const identity = ({ configurable }: Partial<CallContext>) => String(configurable?.["user"] ?? "service");
    await using mcp = await createMcpTools({ test: { url: server.url, identity } });
    // The first one is that of the service.
    const users = times(16, (index) => ({ configurable: { user: `user-${index}` } }));
    for (const user of users) await mcp.toolsFor(user);
    for (const user of users) await mcp.toolsFor(user);
    expect(lists).toBe(17);
    await mcp.toolsFor({});
    expect(lists).toBe(17 + relisted);
  });

  it("follow a change of the server also if that of the service is too large to be kept", async () => {
    const description = "x".repeat(1_100_000);
    await using server = await startMcpTestServer({ tools: [{ ...tool("a"), description }] });
    const identity = ({ configurable }: Partial<CallContext>) => String(configurable?.["user"] ?? "service");
    await using mcp = await createMcpTools({ test: { url: server.url, identity } });
    await server.waitFor("GET");
    for (const user of times(16, (index) => ({ configurable: { user: `user-${index}` } })))
      await mcp.toolsFor(user);
    server.tools = [...server.tools, tool("b")];
    await server.notifyToolsChanged();
    await eventually(() => mcp.tools.length === 2);
  });
});

describe("a long list", () => {
  it.each([
    ["tools", (client: McpClient) => client.listTools()],
    ["resources", (client: McpClient) => client.listResources()],
  ])("of %s whose pages are together larger than a response is not read to its end", async (kind, list) => {
    const description = "x".repeat(17_000_000);
    let pages = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "initialize")
        sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { [kind]: {} } });
      else if (method === `${kind}/list`) {
        pages += 1;
        const item = { name: `n${pages}`, uri: `f:///${pages}`, description, inputSchema: {} };
        sendJson(response, id, { [kind]: [item], nextCursor: `c${pages}` });
      } else return false;
      return;
    });
    await using client = createTestClient(server);
    expect(await rejection(list(client))).toMatchObject({ kind: "too-large" });
    expect(pages).toBe(2);
  });
});

describe("a long list of tools", () => {
  it.each([
    ["endless cursors", { type: "endless" }, "too-large", "more than 100 pages"],
    ["a repeated cursor", { type: "repeated-cursor" }, "invalid-response", "repeated a cursor"],
  ] as const)("fails with %s", async (_, listing, kind, message) => {
    await using server = await startMcpTestServer({ pagination: listing });
    await using client = createTestClient(server);
    const failure = await rejection(client.listTools());
    expect(failure.kind).toBe(kind);
    expect(failure.message).toContain(message);
  });

  it("can have 10,000 tools", async () => {
    await using server = await startMcpTestServer({
      tools: times(10_000, (n) => tool(`tool-${n}`)),
      pagination: { type: "pages", size: 1_000 },
    });
    await using client = createTestClient(server);
    expect(await client.listTools()).toHaveLength(10_000);
  });

  it("fails with the error of the server, without another call of identity", async () => {
    await using server = await startMcpTestServer({
      tools: times(4, (n) => tool(`t${n}`)),
      pagination: { type: "pages", size: 2, failingPage: 2 },
    });
    const identity = () => {
      if (server.received("tools/list").length === 2) throw new Error("not available");
      return "ann";
    };
    await using client = createTestClient(server, { identity });
    expect(await rejection(client.listTools())).toMatchObject({ kind: "server-error", code: -32603 });
  });

  it("survives the loss of its session between two pages", async () => {
    await using server = await startMcpTestServer({
      tools: times(6, (n) => tool(`t${n}`)),
      pagination: { type: "pages", size: 2 },
    });
    await using client = createTestClient(server);
    const listing = client.listTools();
    await server.waitFor("tools/list");
    server.dropSessions();
    expect(await listing).toHaveLength(6);
  });
});
