import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import { clientOf, echo, eventually, failureOf, times } from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { ProcessEvents } from "../../fixtures/process-events.js";

const PINNED = { protocol: "2026-07-28" } as const;

describe("a server that speaks 2026-07-28 only", () => {
  it.each(["json", "sse"] as const)("is called and listed, answering as %s", async (answers) => {
    await using server = await startEraServer("modern", { responseFormat: answers });
    await using client = clientOf(server, PINNED);
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

  it("gets what it needs to route a call in headers, whatever the tool is called", async () => {
    await using server = await startEraServer("modern", {
      tools: [{ name: "grüße", run: () => "hallo" }],
    });
    await using client = clientOf(server, {
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

  it("gets what a tool wants to see in headers, also when nothing was listed before", async () => {
    const properties = {
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
    };
    await using server = await startEraServer("modern", {
      tools: [{ name: "run", inputSchema: { type: "object", properties }, run: (_, { headers }) => headers }],
    });
    const call = { name: "run", args: { region: " north", deep: { count: 3 } } };
    await using client = clientOf(server, PINNED);
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

  it("says that it does not know a method, with 404: that is no lost session", async () => {
    await using server = await startEraServer("modern");
    await using client = clientOf(server, PINNED);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32601, message: "Method not found" },
    });
    const headers = { "content-type": "application/json" };
    server.addFault({ type: "status", status: 404, headers, body }, { method: "tools/call" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-found",
      status: 404,
      code: -32601,
    });
    expect(server.received("server/discover")).toHaveLength(1);
  });

  it("is said to be pinned to an older protocol, if it is", async () => {
    await using server = await startEraServer("modern");
    await using client = clientOf(server, { protocol: "legacy" });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol", status: 400, code: -32022 });
    expect(failure.message).toContain('protocol: "legacy"');
  });

  it("loses one tool and no others to a definition that is none", async () => {
    await using server = await startEraServer("modern", {
      malformedTools: [{ name: "broken", inputSchema: 7 }],
    });
    await using client = clientOf(server, PINNED);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
  });
});

describe("what a server without sessions says of its lists and resources", () => {
  it.each([
    ["is listed again each time if it says so", 0, 3],
    ["is not listed again before the time it says", 60_000, 1],
  ])("it %s", async (_, ttlMs, listings) => {
    await using server = await startEraServer("modern", { cacheHint: { ttlMs, cacheScope: "private" } });
    using events = new ProcessEvents();
    await using mcp = await createMcpTools({ srv: { url: server.url, ...PINNED } });
    for (const expected of listings === 1 ? [1, 1] : [2, 3]) {
      await mcp.toolsFor({});
      // Until it has ended: who asks before that shares it.
      await eventually(() => events.of("toolsListed").length === expected);
    }
    expect(server.received("tools/list")).toHaveLength(listings);
  });

  it("its list is each user's own, also if it calls it public", async () => {
    await using server = await startEraServer("modern", {
      cacheHint: { ttlMs: 60_000, cacheScope: "public" },
    });
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    const definition = { url: server.url, ...PINNED, lazy: true, identity: userOf, auth: userOf };
    await using mcp = await createMcpTools({ srv: definition });
    for (const user of ["ann", "bob"]) await mcp.toolsFor({ configurable: { user } });
    const askers = server.received("tools/list").map(({ headers }) => headers["authorization"]);
    expect(askers).toEqual(expect.arrayContaining(["Bearer ann", "Bearer bob"]));
  });

  it("it tells of updates of a resource, and of no other, until nobody wants them", async () => {
    await using server = await startEraServer("modern", { resources: [] });
    await using client = clientOf(server, PINNED);
    const heard: string[] = [];
    client.on("resourceUpdated", ({ uri }) => heard.push(uri));
    await client.subscribeResource("demo://a");
    await client.subscribeResource("demo://b");
    for (const uri of ["demo://c", "demo://a", "demo://b"]) server.handler?.notify.resourceUpdated(uri);
    await eventually(() => heard.length === 2);
    expect(heard).toEqual(["demo://a", "demo://b"]);
    await client.unsubscribeResource("demo://a");
    for (const uri of ["demo://a", "demo://b"]) server.handler?.notify.resourceUpdated(uri);
    await eventually(() => heard.length === 3);
    expect(heard.at(-1)).toBe("demo://b");
    expect(server.received("resources/subscribe")).toHaveLength(0);
  });

  it("it is asked for log messages with each request, and pinged in its own way", async () => {
    await using server = await startEraServer("modern");
    await using client = clientOf(server, PINNED);
    await client.setLogLevel("warning");
    await client.ping();
    await client.callTool(echo());
    expect(server.received("ping")).toHaveLength(0);
    expect(server.received("tools/call")[0]?.body).toMatchObject({
      params: { _meta: { "io.modelcontextprotocol/logLevel": "warning" } },
    });
  });
});

describe("a server with sessions", () => {
  it("is said to be pinned to the newer protocol, if it is", async () => {
    await using server = await startEraServer("legacy");
    await using client = clientOf(server, PINNED);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol" });
    expect(failure.message).toContain('protocol: "2026-07-28"');
    expect(server.received("initialize")).toHaveLength(0);
  });
});

describe("nobody to speak to", () => {
  it("is told as it is in any revision", async () => {
    await using client = new McpClient({
      name: "gone",
      url: "http://127.0.0.1:9/mcp",
      ...PINNED,
      retry: false,
    });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
  });
});
