import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { startRawWebSocket } from "../../fixtures/websocket-server.js";

const CANARY = "canary7f3a91secret";

function clientOf(url: string, definition: object = {}): McpClient {
  return new McpClient({ name: "socket", ...ONCE, url, headers: { "x-key": CANARY }, ...definition });
}

interface Listener extends AsyncDisposable {
  readonly url: string;
  readonly sockets: Set<Socket>;
}

async function listen(server: Server): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answering(answer: (response: ServerResponse) => void): Promise<Listener> {
  return listen(createHttpServer((_, response) => answer(response)));
}

function speaking(speak: (socket: Socket) => void): Promise<Listener> {
  return listen(createServer((socket) => socket.once("data", () => speak(socket))));
}

describe("a server that opens no WebSocket", () => {
  it.each([
    [401, {}, "unauthorized", "Check its credentials."],
    [403, {}, "unauthorized", "Check its credentials."],
    [404, {}, "invalid-request", "Is the path of the URL right?"],
    [426, {}, "invalid-request", "HTTP 426"],
    [429, { "retry-after": "7" }, "rate-limited", "HTTP 429"],
    [503, { "retry-after": "7" }, "rate-limited", "HTTP 503"],
    [503, {}, "unavailable", "HTTP 503"],
    [500, {}, "server-error", "HTTP 500"],
    [307, { location: "wss://elsewhere.test/mcp" }, "invalid-request", "wss://elsewhere.test"],
    [200, {}, "invalid-response", "did not open a WebSocket: HTTP 200"],
  ])("HTTP %i %o is %s", async (status, headers, kind, said) => {
    await using server = await answering((response) =>
      response.writeHead(status, headers).end(`no ${CANARY}`),
    );
    await using client = clientOf(server.url);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind,
      outcomeUnknown: false,
      server: "socket",
      message: expect.stringContaining(said),
    });
    expect(failure.message).not.toContain(CANARY);
    if (kind === "rate-limited") expect(failure.retryAt).toBeInstanceOf(Date);
    await eventually(() => server.sockets.size === 0);
  });

  it("is not waited for when its refusal never ends", async () => {
    await using server = await answering((response) => {
      response.writeHead(401).write("go away, ");
      const endless = setInterval(() => response.write("and away, "), 50);
      response.once("close", () => clearInterval(endless));
    });
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    await eventually(() => server.sockets.size === 0);
  });

  it.each([
    ["speaks no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "invalid-response"],
    [
      "switches to something else",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
      "unsupported-protocol",
    ],
    [
      "cannot have read the request",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: mcp\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
      "invalid-response",
    ],
  ])("but %s", async (_, bytes, kind) => {
    await using server = await speaking((socket) => socket.write(bytes));
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind, outcomeUnknown: false });
    await eventually(() => server.sockets.size === 0);
  });

  it("but hangs up was never sent anything", async () => {
    await using server = await speaking((socket) => socket.destroy());
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
    });
  });

  it("but a WebSocket of another kind does not speak MCP", async () => {
    await using host = await startRawWebSocket(() => false, { handleProtocols: () => false });
    await using client = clientOf(host.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "unsupported-protocol",
      message: expect.stringContaining('without the subprotocol "mcp"'),
    });
    await eventually(() => host.openConnections === 0);
  });

  it("because nobody is there", async () => {
    const server = await answering(() => undefined);
    const { url } = server;
    await server[Symbol.asyncDispose]();
    await using client = clientOf(url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      message: expect.stringContaining("refused the connection at ws://127.0.0.1"),
    });
  });

  it("but says nothing is given up in time, and nothing stays open", async () => {
    await using server = await speaking(() => undefined);
    await using client = clientOf(server.url, { timeouts: { connectMs: 100 } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "timeout",
      outcomeUnknown: false,
    });
    await eventually(() => server.sockets.size === 0);
  });

  it("and a client that is closed meanwhile leaves nothing", async () => {
    await using server = await speaking(() => undefined);
    const client = clientOf(server.url);
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.sockets.size === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.sockets.size === 0);
  });
});
