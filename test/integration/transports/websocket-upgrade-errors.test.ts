import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createTestClient, echo, eventually, rejection } from "../../fixtures/clients.js";
import { startRawWebSocket } from "../../fixtures/websocket-server.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { Listener } from "../../fixtures/listener.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const CANARY = "canary7f3a91secret";
const HEADERS = { headers: { "x-key": CANARY } };

async function listen(server: Server) {
  const listener = await Listener.start(server);
  const { port, sockets } = listener;
  return disposeWith({ url: `ws://127.0.0.1:${port}/mcp`, sockets }, listener);
}

function startHttpServer(respond: (response: ServerResponse) => void) {
  return listen(createHttpServer((_, response) => respond(response)));
}

function startTcpServer(onData: (socket: Socket) => void) {
  return listen(createServer((socket) => socket.once("data", () => onData(socket))));
}

describe("a server that does not open a WebSocket", () => {
  it.each([
    [401, {}, "unauthorized", { status: 401, message: expect.stringContaining("credentials") }],
    [403, {}, "unauthorized", { status: 403, message: expect.stringContaining("credentials") }],
    [404, {}, "invalid-request", { status: 404, message: expect.stringContaining("path of the URL") }],
    [426, {}, "invalid-request", { status: 426 }],
    [429, { "retry-after": "7" }, "rate-limited", { status: 429, retryAt: expect.any(Date) }],
    [503, { "retry-after": "7" }, "rate-limited", { status: 503, retryAt: expect.any(Date) }],
    [503, {}, "unavailable", { status: 503 }],
    [500, {}, "server-error", { status: 500 }],
    [
      307,
      { location: "wss://elsewhere.test/mcp" },
      "invalid-request",
      { status: 307, message: expect.stringContaining("wss://elsewhere.test") },
    ],
    [200, {}, "invalid-response", { message: expect.stringContaining("HTTP 200") }],
  ])("and returns HTTP %i %o is kind %s", async (status, headers, kind, expected) => {
    await using server = await startHttpServer((response) =>
      response.writeHead(status, headers).end(`no ${CANARY}`),
    );
    await using client = createTestClient(server, HEADERS);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind,
      outcomeUnknown: false,
      server: "test",
      ...expected,
    });
    expect(failure.message).not.toContain(CANARY);
    await eventually(() => server.sockets.size === 0);
  });

  it("and never ends its error response does not delay the error", async () => {
    await using server = await startHttpServer((response) => {
      response.writeHead(401).write("go away, ");
      const endless = setInterval(() => response.write("and away, "), 50);
      response.once("close", () => clearInterval(endless));
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, HEADERS, { clock });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.sockets.size === 1);
    // The beginning of a body is read for a second at most.
    expect(await clock.advanceUntilSettled(call, 1_000)).toMatchObject({ kind: "unauthorized", status: 401 });
    await eventually(() => server.sockets.size === 0);
  });

  it.each([
    ["does not use HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "invalid-response"],
    [
      "switches to another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
      "unsupported-protocol",
    ],
    [
      "sends an invalid Sec-WebSocket-Accept",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
      "invalid-response",
    ],
  ])("but %s is rejected", async (_, bytes, kind) => {
    await using server = await startTcpServer((socket) => socket.write(bytes));
    await using client = createTestClient(server, HEADERS);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind, outcomeUnknown: false });
    await eventually(() => server.sockets.size === 0);
  });

  it("but closes the connection is kind not-sent", async () => {
    await using server = await startTcpServer((socket) => socket.destroy());
    await using client = createTestClient(server, HEADERS);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
    });
  });

  it("with the subprotocol mcp is kind unsupported-protocol", async () => {
    await using host = await startRawWebSocket(() => false, { handleProtocols: () => false });
    await using client = createTestClient(host, HEADERS);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "unsupported-protocol",
      message: expect.stringContaining('subprotocol "mcp"'),
    });
    await eventually(() => host.openConnections === 0);
  });

  it("because it is not running is kind not-sent", async () => {
    const server = await startHttpServer(() => undefined);
    const { url } = server;
    await server[Symbol.asyncDispose]();
    await using client = createTestClient(url, HEADERS);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      cause: { code: "ECONNREFUSED" },
    });
  });

  it("and never responds is aborted after connectMs, and nothing stays open", async () => {
    await using server = await startTcpServer(() => undefined);
    await using client = createTestClient(server, { ...HEADERS, timeouts: { connectMs: 100 } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "timeout",
      outcomeUnknown: false,
    });
    await eventually(() => server.sockets.size === 0);
  });

  it("leaves nothing open when the client is closed meanwhile", async () => {
    await using server = await startTcpServer(() => undefined);
    const client = createTestClient(server, HEADERS);
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.sockets.size === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.sockets.size === 0);
  });
});
