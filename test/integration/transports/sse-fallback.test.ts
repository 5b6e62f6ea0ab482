import { describe, expect, it } from "vitest";
import { McpClient, type McpClientOptions, type ServerDefinition } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { LegacySseServer } from "../../fixtures/sse-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

function clientOf(
  url: string,
  definition: Partial<Extract<ServerDefinition, { url: unknown }>> = {},
  options: McpClientOptions = {},
): McpClient {
  return new McpClient({ name: "web", ...ONCE, ...definition, url } as never, options);
}

/** Whatever the server has written before has arrived after it: both sides live in this process. */
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
  ])("and answers the handshake with $status $body is used over its stream", async (refusal) => {
    await using server = await LegacySseServer.start();
    server.refusal = refusal;
    await using client = clientOf(server.url, { headers: { authorization: "Bearer of-both" } });
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

  it("is asked once: later sessions go to the stream directly", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.callTool(echo());
    await server.restart();
    await client.callTool(echo());
    server.dropSessions();
    await client.callTool(echo());
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(1);
    expect(server.received("GET")).toHaveLength(3);
  });

  it("is still known as such after it was down", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.callTool(echo());
    await server.stop();
    await eventually(() => client.state !== "ready");
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
    await server.start();
    server.answerNext("GET", { status: 503 });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unavailable" });
    expect((await client.callTool(echo("back"))).text()).toBe("back");
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(1);
  });

  it("is found again when its stream fails for a moment, and that failure is the one that is told", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.callTool(echo());
    await server.restart();
    server.answerNext("GET", { status: 500 });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "server-error", status: 500, outcomeUnknown: false });
    expect(failure.message).toContain("Streamable HTTP was tried as well: POST was answered HTTP 405.");
    expect((await client.callTool(echo("back"))).text()).toBe("back");
  });

  it("is asked anew by a client that was closed", async () => {
    await using server = await LegacySseServer.start();
    const client = clientOf(server.url);
    await client.callTool(echo());
    await client.close();
    await client.callTool(echo());
    await client.close();
    expect(server.received("initialize").filter(({ path }) => path === "/mcp")).toHaveLength(2);
    await eventually(() => server.openSockets === 0);
  });

  it("may be upgraded: the handshake that finds no stream goes on over Streamable HTTP", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.callTool(echo());
    server.speaks = "http";
    await server.restart();
    const results = await Promise.all(times(10, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(10, (n) => `n${n}`));
    const gets = server.received("GET").length;
    await server.restart();
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("GET")).toHaveLength(gets);
  });

  it("may be upgraded to one whose stream has nothing to say", async () => {
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
    await using client = clientOf(server.url, {}, { clock });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    isUpgraded = true;
    const call = client.callTool(echo());
    await eventually(() => server.seen.filter(({ httpMethod }) => httpMethod === "GET").length === 2);
    await roundTrip(server.url);
    clock.advance(5_000);
    expect((await call).text()).toBe("ok");
  });
});

describe("a server that speaks both", () => {
  it("is used over Streamable HTTP, and no stream is opened", async () => {
    await using server = await LegacySseServer.start();
    server.speaks = "both";
    await using client = clientOf(server.url);
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(server.received("GET")).toHaveLength(0);
  });
});

describe("what is no sign of an older server", () => {
  it.each([
    ["401", { status: 401 }, "unauthorized"],
    ["403", { status: 403 }, "unauthorized"],
    ["408", { status: 408 }, "invalid-request"],
    ["429", { status: 429 }, "rate-limited"],
    ["500", { status: 500 }, "server-error"],
    ["503", { status: 503 }, "unavailable"],
    [
      "a session that it does not know",
      { status: 400, body: rpcError(-32_000, "Bad Request: No valid session ID provided") },
      "server-error",
    ],
    [
      "a method that it does not know",
      { status: 404, body: rpcError(-32_601, "no such method") },
      "unsupported-protocol",
    ],
    [
      "a page",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Sign in</p>" },
      "invalid-response",
    ],
  ])("%s: told as it is, without a GET", async (_, refusal, kind) => {
    await using server = await LegacySseServer.start();
    server.refusal = refusal;
    await using client = clientOf(server.url);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure.status ?? 200).toBe(refusal.status);
    expect(server.received("GET")).toHaveLength(0);
    if (kind !== "server-error") expect(failure.kind).toBe(kind);
  });

  it("a refusal of a session that was pinned", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url, { session: { id: "pinned" } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ status: 405 });
    expect(server.received("GET")).toHaveLength(0);
  });

  it("a refusal of a later request", async () => {
    await using server = await LegacySseServer.start();
    server.speaks = "both";
    await using client = clientOf(server.url);
    await client.ensureSession();
    server.answerNext("tools/call", { status: 405 });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 405 });
    expect(server.received("GET")).toHaveLength(0);
  });
});

describe("a server that takes neither the POST nor the GET", () => {
  it.each([
    ["404", { status: 404 }, "The older SSE transport was tried as well: GET was answered HTTP 404."],
    ["500", { status: 500 }, "GET was answered HTTP 500."],
    [
      "a page",
      { status: 200, headers: { "content-type": "text/html" }, body: "<p>Hi</p>" },
      'with "text/html"',
    ],
  ])("and answers the GET with %s: the failure of the POST, with a hint", async (_, answer, hint) => {
    await using server = await LegacySseServer.start();
    server.refusal = { status: 404 };
    server.answerNext("GET", answer);
    await using client = clientOf(server.url);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 404, attempts: 0 });
    expect(failure.message).toContain("Is the path of the URL right?");
    expect(failure.message).toContain(hint);
  });

  it("and streams without naming an endpoint: the same, after a while", async () => {
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod === "POST") return void response.writeHead(400).end();
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": nothing yet\n\n");
      return;
    });
    const clock = new FakeClock();
    await using client = clientOf(server.url, { timeouts: { connectMs: 1_000 } }, { clock });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.seen.length === 2);
    await roundTrip(server.url);
    clock.advance(500);
    const failure = await call;
    expect(failure).toMatchObject({ kind: "invalid-request", status: 400 });
    expect(failure.message).toContain("names no endpoint for messages within 500 ms");
  });

  it.each([
    [401, "unauthorized"],
    [429, "rate-limited"],
    [503, "unavailable"],
  ])("for now, because the GET is answered %i: that is what has to be known", async (status, kind) => {
    await using server = await LegacySseServer.start();
    server.answerNext("GET", { status });
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind, status });
    expect((await client.callTool(echo("then"))).text()).toBe("then");
  });

  it("and is left while it is tried: nothing stays open", async () => {
    await using server = await startRawServer(({ httpMethod, response }) => {
      if (httpMethod === "POST") response.writeHead(405).end();
    });
    const client = clientOf(server.url);
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.seen.length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.sockets.size === 0);
  });
});
