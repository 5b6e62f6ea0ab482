import { describe, expect, it } from "vitest";
import { createTestClient, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

/** Everything that the server has written before is received after it: both sides run in this process. */
async function roundTrip(url: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body: "{}" });
  await response.text();
}

const rpcError = (code: number, message: string) =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } });

describe("a server that is older than Streamable HTTP", () => {
  it.each([
    { status: 400, body: "sessionId query parameter is not provided" },
    { status: 404, body: "<pre>Cannot POST /sse</pre>" },
    { status: 405 },
    { status: 405, body: rpcError(-32_000, "Method not allowed.") },
    { status: 415, body: "Unsupported Media Type" },
    { status: 400, body: rpcError(-32_000, "Bad Request: No valid session ID provided") },
    { status: 422, body: rpcError(-32_600, "Invalid Request") },
  ])("and rejects initialize with $status $body is used over SSE", async (postResponse) => {
    await using server = await SseServer.start();
    server.postResponse = postResponse;
    await using client = createTestClient(server, { headers: { authorization: "Bearer of-both" } });
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(server.requests.slice(0, 3).map(({ httpMethod, path }) => `${httpMethod} ${path}`)).toEqual([
      "POST /mcp",
      "GET /mcp",
      `POST /messages?sessionId=${client.sessionId}`,
    ]);
    expect(new Set(server.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(["Bearer of-both"]),
    );
  });

  it("is detected once: later sessions use SSE directly", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server);
    await client.callTool(echo());
    await server.restart();
    await client.callTool(echo());
    server.dropSessions();
    await client.callTool(echo());
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(1);
    expect(server.received("GET")).toHaveLength(3);
  });

  it("stays detected after it was down", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server);
    await client.callTool(echo());
    await server.stop();
    await eventually(() => client.state !== "ready");
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    await server.start();
    server.respondNext("GET", { status: 503 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unavailable" });
    expect((await client.callTool(echo("back"))).text()).toBe("back");
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(1);
  });

  it("is detected again after its stream failed once, and the error reports that failure", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server);
    await client.callTool(echo());
    await server.restart();
    server.respondNext("GET", { status: 500 });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind: "server-error",
      status: 500,
      outcomeUnknown: false,
      cause: { kind: "invalid-request", status: 405 },
    });
    expect((await client.callTool(echo("back"))).text()).toBe("back");
  });

  it("is detected again by a client that was closed", async () => {
    await using server = await SseServer.start();
    const client = createTestClient(server);
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    await client.close();
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(2);
    await eventually(() => server.openSockets === 0);
  });

  it("may be upgraded: without an SSE stream the handshake continues over Streamable HTTP", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server);
    await client.callTool(echo());
    server.transport = "http";
    await server.restart();
    const results = await Promise.all(times(10, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(10, (n) => `n${n}`));
    const gets = server.received("GET").length;
    await server.restart();
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("GET")).toHaveLength(gets);
  });

  it("may be upgraded to a server whose stream sends no endpoint", async () => {
    let isUpgraded = false;
    await using server = await startRawServer(({ httpMethod, request, response }) => {
      if (httpMethod === "POST" && isUpgraded) return false;
      if (httpMethod === "POST") return void response.writeHead(request.url === "/mcp" ? 405 : 500).end();
      const events = response.writeHead(200, { "content-type": "text/event-stream" });
      if (isUpgraded) events.write(": nothing yet\n\n");
      else events.write("event: endpoint\ndata: /messages\n\n");
      return;
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    isUpgraded = true;
    const call = client.callTool(echo());
    await eventually(() => server.requests.filter(({ httpMethod }) => httpMethod === "GET").length === 2);
    await roundTrip(server.url);
    clock.advance(5_000);
    expect((await call).text()).toBe("ok");
  });
});

describe("a server that supports both", () => {
  it("is used over Streamable HTTP, and no stream is opened", async () => {
    await using server = await SseServer.start();
    server.transport = "both";
    await using client = createTestClient(server);
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(server.received("GET")).toHaveLength(0);
  });
});

describe("SSE is not tried after", () => {
  it.each([
    ["401", { status: 401 }, "unauthorized"],
    ["403", { status: 403 }, "unauthorized"],
    ["408", { status: 408 }, "invalid-request"],
    ["429", { status: 429 }, "rate-limited"],
    ["500", { status: 500 }, "server-error"],
    ["503", { status: 503 }, "unavailable"],
    ["an unknown method", { status: 404, body: rpcError(-32_601, "no such method") }, "unsupported-protocol"],
    [
      "an HTML page",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Sign in</p>" },
      "invalid-response",
    ],
  ])("%s, which is reported without a GET", async (_, postResponse, kind) => {
    await using server = await SseServer.start();
    server.postResponse = postResponse;
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure.status ?? 200).toBe(postResponse.status);
    expect(server.received("GET")).toHaveLength(0);
    expect(failure.kind).toBe(kind);
  });

  it("a rejected request of a pinned session", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, { session: { id: "pinned" } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ status: 405 });
    expect(server.received("GET")).toHaveLength(0);
  });

  it("a rejected request after initialize", async () => {
    await using server = await SseServer.start();
    server.transport = "both";
    await using client = createTestClient(server);
    await client.ensureSession();
    server.respondNext("tools/call", { status: 405 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 405 });
    expect(server.received("GET")).toHaveLength(0);
  });
});

describe("a server that accepts neither the POST nor the GET", () => {
  it.each([
    ["404", { status: 404 }, { kind: "invalid-request", status: 404 }],
    ["500", { status: 500 }, { kind: "server-error", status: 500 }],
    [
      "an HTML page",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Hi</p>" },
      { kind: "invalid-response", message: expect.stringContaining("text/html") },
    ],
  ])("and returns %s for the GET: the error is that of the POST, with a hint", async (_, response, cause) => {
    await using server = await SseServer.start();
    server.postResponse = { status: 404 };
    server.respondNext("GET", response);
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 404, attempts: 0, cause });
    expect(failure.message).toContain("path of the URL");
  });

  it("and streams without an endpoint: the same after a timeout", async () => {
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod === "POST") return void response.writeHead(400).end();
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": nothing yet\n\n");
      return;
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { connectMs: 1_000 } }, { clock });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.requests.length === 2);
    await roundTrip(server.url);
    clock.advance(500);
    const failure = await call;
    expect(failure).toMatchObject({
      kind: "invalid-request",
      status: 400,
      cause: { kind: "invalid-response", message: expect.stringContaining("endpoint event within 500 ms") },
    });
  });

  it.each([
    [401, "unauthorized"],
    [429, "rate-limited"],
    [503, "unavailable"],
  ])("because the GET returns %i for now: the error is that of the GET", async (status, kind) => {
    await using server = await SseServer.start();
    server.respondNext("GET", { status });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind, status });
    expect((await client.callTool(echo("then"))).text()).toBe("then");
  });

  it("and a client that is closed during the detection leaves nothing open", async () => {
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod === "POST") response.writeHead(405).end();
    });
    const client = createTestClient(server);
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.requests.length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.sockets.size === 0);
  });
});
