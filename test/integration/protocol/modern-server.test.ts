import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import { createTestClient, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { ProcessEvents } from "../../fixtures/process-events.js";

const PINNED = { protocol: "2026-07-28" } as const;

describe("a server that supports only 2026-07-28", () => {
  it.each(["json", "sse"] as const)("is called and listed with %s responses", async (responseFormat) => {
    await using server = await startEraServer("modern", { responseFormat });
    await using client = createTestClient(server, PINNED);
    const results = await Promise.all(times(20, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `n${n}`));
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(client.serverInfo).toMatchObject({ name: "era-server", version: "2.0.0" });
    expect(client.capabilities).toMatchObject({ tools: { listChanged: true } });
    expect(client.sessionId).toBeUndefined();
    expect(server.requests.map(({ httpMethod }) => httpMethod)).toEqual(times(22, () => "POST"));
    expect(server.received("server/discover")).toHaveLength(1);
    expect(server.received("initialize")).toHaveLength(0);
  });

  it("receives the routing headers, also for a tool name that is not ASCII", async () => {
    await using server = await startEraServer("modern", {
      tools: [{ name: "grüße", run: () => "hallo" }],
    });
    await using client = createTestClient(server, {
      ...PINNED,
      headers: {
        "mcp-method": "tools/list",
        "mcp-name": "other",
        "mcp-protocol-version": "1",
        "x-mine": "kept",
      },
    });
    expect((await client.callTool({ name: "grüße" })).text()).toBe("hallo");
    expect(server.received("tools/call")[0]?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from("grüße").toString("base64")}?=`,
      "x-mine": "kept",
    });
  });

  it("receives the parameter headers of a tool that was not listed before", async () => {
    const properties = {
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
    };
    await using server = await startEraServer("modern", {
      tools: [{ name: "run", inputSchema: { type: "object", properties }, run: (_, { headers }) => headers }],
    });
    const call = { name: "run", args: { region: " north", deep: { count: 3 } } };
    await using client = createTestClient(server, PINNED);
    const error = { code: -32020, message: "Mcp-Param-Region is missing" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 2, error });
    const json = { "content-type": "application/json" };
    server.addFault({ type: "status", status: 400, headers: json, body }, { method: "tools/call", times: 1 });
    await client.callTool(call);
    expect(server.executions).toHaveLength(1);
    expect(server.executions[0]?.headers).toMatchObject({
      "mcp-param-region": `=?base64?${Buffer.from(" north").toString("base64")}?=`,
      "mcp-param-count": "3",
    });
  });

  it("may return 404 for an unknown method, which is not a lost session", async () => {
    await using server = await startEraServer("modern");
    await using client = createTestClient(server, PINNED);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32601, message: "Method not found" },
    });
    const headers = { "content-type": "application/json" };
    server.addFault({ type: "status", status: 404, headers, body }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-found",
      status: 404,
      code: -32601,
    });
    expect(server.received("server/discover")).toHaveLength(1);
  });

  it.each([
    [200, false, 1],
    [200, true, 2],
    [400, false, 2],
  ])(
    "that rejects the version of a call with status %i (idempotent: %s) receives it %i times",
    async (status, idempotent, calls) => {
      let rejections = 1;
      await using server = await startMcpTestServer({
        intercept: async ({ response, body }) => {
          const { id, method } = body as { readonly id: unknown; readonly method: string };
          if (method !== "tools/call" || rejections === 0) return false;
          rejections -= 1;
          const error = { code: -32022, message: "Unsupported" };
          response.writeHead(status, { "content-type": "application/json" });
          response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
          return true;
        },
      });
      await using client = createTestClient(server);
      await client.callTool(echo(), { idempotent }).catch((error: unknown) => error);
      expect(server.received("tools/call")).toHaveLength(calls);
    },
  );

  it("fails with a hint when protocol is set to legacy", async () => {
    await using server = await startEraServer("modern");
    await using client = createTestClient(server, { protocol: "legacy" });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", status: 400, code: -32022 });
    expect(failure.message).toContain('protocol: "legacy"');
  });

  it("lists all tools except the malformed one", async () => {
    await using server = await startEraServer("modern", {
      malformedTools: [{ name: "broken", inputSchema: 7 }],
    });
    await using client = createTestClient(server, PINNED);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
  });
});

describe("a server of the modern era", () => {
  it.each([
    ["each time with a ttl of 0", 0, 3],
    ["once before its ttl expires", 60_000, 1],
  ])("is listed %s", async (_, ttlMs, listings) => {
    await using server = await startEraServer("modern", { cacheHint: { ttlMs, cacheScope: "private" } });
    using events = new ProcessEvents();
    await using mcp = await createMcpTools({ srv: { url: server.url, ...PINNED } });
    for (const expected of listings === 1 ? [1, 1] : [2, 3]) {
      await mcp.toolsFor({});
      // Wait until it has ended: a call before that shares the request.
      await eventually(() => events.of("toolsListed").length === expected);
    }
    expect(server.received("tools/list")).toHaveLength(listings);
  });

  it("has one list per user, even if its cacheScope is public", async () => {
    await using server = await startEraServer("modern", {
      cacheHint: { ttlMs: 60_000, cacheScope: "public" },
    });
    const getUser = ({ configurable }: CallContext) => String(configurable["user"]);
    const definition = { url: server.url, ...PINNED, lazy: true, identity: getUser, auth: getUser };
    await using mcp = await createMcpTools({ srv: definition });
    for (const user of ["ann", "bob"]) await mcp.toolsFor({ configurable: { user } });
    const authorizations = server.received("tools/list").map(({ headers }) => headers["authorization"]);
    expect(authorizations).toEqual(expect.arrayContaining(["Bearer ann", "Bearer bob"]));
  });

  it("sends updates of subscribed resources only, until they are unsubscribed", async () => {
    await using server = await startEraServer("modern", { resources: [] });
    await using client = createTestClient(server, PINNED);
    const received: string[] = [];
    client.on("resourceUpdated", ({ uri }) => received.push(uri));
    await client.subscribeResource("demo://a");
    await client.subscribeResource("demo://b");
    for (const uri of ["demo://c", "demo://a", "demo://b"]) server.handler?.notify.resourceUpdated(uri);
    await eventually(() => received.length === 2);
    expect(received).toEqual(["demo://a", "demo://b"]);
    await client.unsubscribeResource("demo://a");
    for (const uri of ["demo://a", "demo://b"]) server.handler?.notify.resourceUpdated(uri);
    await eventually(() => received.length === 3);
    expect(received.at(-1)).toBe("demo://b");
    expect(server.received("resources/subscribe")).toHaveLength(0);
  });

  it("receives the log level with each request and no ping", async () => {
    await using server = await startEraServer("modern");
    await using client = createTestClient(server, PINNED);
    await client.setLogLevel("warning");
    await client.ping();
    await client.callTool(echo());
    expect(server.received("ping")).toHaveLength(0);
    expect(server.received("tools/call")[0]?.body).toMatchObject({
      params: { _meta: { "io.modelcontextprotocol/logLevel": "warning" } },
    });
  });
});

describe("a server of the legacy era", () => {
  it("fails with a hint when protocol is set to 2026-07-28", async () => {
    await using server = await startEraServer("legacy");
    await using client = createTestClient(server, PINNED);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol" });
    expect(failure.message).toContain('protocol: "2026-07-28"');
    expect(server.received("initialize")).toHaveLength(0);
  });
});

describe("an unreachable server", () => {
  it("has kind not-sent in the modern era as well", async () => {
    await using client = new McpClient({
      name: "gone",
      url: "http://127.0.0.1:9/mcp",
      ...PINNED,
      retry: false,
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
  });
});
