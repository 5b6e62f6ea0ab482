import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  rejection,
  deferred,
  NO_RETRY,
  times,
  recordWarnings,
} from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  isToolCall,
  type RawMessage,
  sendText,
  startRawWebSocket,
  WebSocketTestServer,
} from "../../fixtures/websocket-server.js";

const PING_INTERVAL_MS = 30_000;

describe("over a WebSocket", () => {
  it("100 calls receive their own responses, which arrive in reverse order", async () => {
    const received: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message)) return false;
      if (received.push(message) < 100) return;
      for (const { id, params } of received.toReversed())
        sendText(socket, id, (params["arguments"] as { text: string }).text);
      return;
    });
    await using client = createTestClient(host);
    const results = await Promise.all(times(100, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(100, (n) => `n${n}`));
    expect(host.upgrades).toHaveLength(1);
  });

  it("headers are sent with the upgrade request, and reserved ones cannot be replaced", async () => {
    await using host = await startRawWebSocket();
    const reserved = { "Sec-WebSocket-Protocol": "other", "Sec-WebSocket-Key": "x", Upgrade: "h2" };
    const url = `${host.url.replace("ws://", "ws://ann:p%40ss@")}?tenant=a#part`;
    await using client = createTestClient(url, { headers: { "X-Key": "k", ...reserved } });
    const warnings = recordWarnings(client);
    expect((await client.callTool(echo())).text()).toBe("ok");
    const { headers, url: path } = host.upgrades[0] ?? { headers: {}, url: "" };
    expect(path).toBe("/mcp?tenant=a");
    expect(headers).toMatchObject({
      "x-key": "k",
      authorization: `Basic ${Buffer.from("ann:p@ss").toString("base64")}`,
      "sec-websocket-protocol": "mcp",
      upgrade: "websocket",
    });
    expect(headers["sec-websocket-key"]).not.toBe("x");
    expect(headers["sec-websocket-extensions"]).toBeUndefined();
    expect(warnings[0]).toContain(
      "ignoring headers Sec-WebSocket-Protocol, Sec-WebSocket-Key, Upgrade: they are set by the protocol",
    );
  });

  it("each identity has its own connection, opened with its own credentials", async () => {
    await using host = await startRawWebSocket();
    await using client = createTestClient(host, {
      headers: ({ configurable }: { configurable: { user?: string } }) => ({
        "x-user": configurable.user ?? "",
      }),
      identity: ({ configurable }: { configurable: { user?: string } }) => configurable.user ?? "",
    });
    const as = (user: string) => ({ context: { configurable: { user } } });
    for (const user of ["ann", "bob", "ann"]) await client.callTool(echo(), as(user) as object);
    expect(host.upgrades.map(({ headers }) => headers["x-user"])).toEqual(["ann", "bob"]);
  });

  it("a rejected token is renewed once", async () => {
    const tokens = ["old", "new"];
    await using host = await startRawWebSocket(() => false, {
      verifyClient: ({ req }, done) => done(req.headers.authorization === "Bearer new", 401),
    });
    await using client = createTestClient(host, {
      auth: () => tokens.shift() ?? "none",
      identity: () => "me",
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(host.upgrades).toHaveLength(1);
  });

  it("a server can send notifications and requests", async () => {
    const pongs: unknown[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (message.method === "notifications/initialized") {
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: "from-server", method: "ping" }));
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
      } else if (message.method === undefined) pongs.push(message);
      else return false;
      return;
    });
    await using client = createTestClient(host);
    let changes = 0;
    client.on("toolsChanged", () => (changes += 1));
    await client.ensureSession();
    await eventually(() => changes === 1 && pongs.length === 1);
    expect(pongs).toEqual([{ jsonrpc: "2.0", id: "from-server", result: {} }]);
  });

  it("the server is notified of a cancelled call, and a call that was already cancelled is not sent", async () => {
    const seen: RawMessage[] = [];
    await using host = await startRawWebSocket((message) => {
      seen.push(message);
      return isToolCall(message) ? undefined : false;
    });
    await using client = createTestClient(host);
    await client.ensureSession();
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    const early = rejection(client.callTool(echo(), { signal: AbortSignal.abort("never") }));
    expect(await early).toBe("never");
    await eventually(() => seen.some(isToolCall));
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => seen.at(-1)?.method === "notifications/cancelled");
    const { id } = seen.find(isToolCall) ?? { id: undefined };
    expect(seen.at(-1)?.params).toMatchObject({ requestId: id });
    expect(seen.filter(isToolCall)).toHaveLength(1);
  });

  it("a call that is cancelled before it was written is not sent", async () => {
    const seen: RawMessage[] = [];
    await using host = await startRawWebSocket((message) => {
      seen.push(message);
      return false;
    });
    await using client = createTestClient(host);
    const controller = new AbortController();
    const call = rejection(client.callTool(echo("first"), { signal: controller.signal }));
    controller.abort("enough");
    expect(await call).toBe("enough");
    expect((await client.callTool(echo("second"))).text()).toBe("ok");
    expect(seen.map(({ method }) => method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
  });

  it("arguments that cannot be serialized are rejected before anything is sent", async () => {
    await using host = await startRawWebSocket();
    await using client = createTestClient(host);
    const failure = await rejection(client.callTool({ name: "echo", args: { n: 1n } }));
    expect(failure).toMatchObject({ kind: "invalid-config", outcomeUnknown: false });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("a WebSocket that is lost", () => {
  it("fails all written requests at once, and held tools work with one new connection", async () => {
    const { promise, resolve } = deferred();
    const server = new McpTestServer({ tools: [{ name: "slow", run: async () => (await promise, "done") }] });
    await using host = await WebSocketTestServer.serve(server);
    await using mcp = await createMcpTools({ socket: { url: host.url, ...NO_RETRY } });
    const [tool] = mcp.tools;
    const invoke = async (): Promise<unknown> => tool?.invoke({});
    const calls = times(20, () => rejection(invoke()));
    await eventually(() => server.executions.length === 20);
    await host.stop();
    const failures = await Promise.all(calls);
    expect(failures.map(({ kind, outcomeUnknown }) => [kind, outcomeUnknown])).toEqual(
      times(20, () => ["connection-lost", true]),
    );
    expect(mcp.clients["socket"]?.state).toBe("idle");
    expect(await rejection(invoke())).toMatchObject({ kind: "not-sent" });
    await host.start();
    resolve();
    const results = await Promise.all(times(20, invoke));
    expect(results).toEqual(times(20, () => "done"));
    expect(host.upgrades).toHaveLength(2);
    expect(server.executions).toHaveLength(40);
  });

  it("because the server closed it has the server's reason in its error, and the next call opens another", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message) || host.upgrades.length > 1) return false;
      socket.close(1012, "going down for token canary7f3a91");
      return;
    });
    await using client = createTestClient(host, { headers: { "x-key": "canary7f3a91" } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      message: expect.stringContaining('closed with code 1012, "going down for token [redacted]"'),
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("while idle does not fail any call", async () => {
    await using host = await startRawWebSocket();
    await using client = createTestClient(host);
    await client.callTool(echo());
    for (const socket of host.sockets) socket.terminate();
    await eventually(() => client.state === "idle");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(host.upgrades).toHaveLength(2);
  });

  it("with an incomplete closing handshake is terminated after a timeout", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isToolCall(message) || host.upgrades.length > 1) return false;
      // Sends the close frame and keeps the underlying connection open.
      socket.close(1001);
      socket.pause();
      return;
    });
    await using client = createTestClient(host);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("the heartbeat of a WebSocket", () => {
  it("pings every 30 s and keeps a responsive connection", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket();
    await using client = createTestClient(host, {}, { clock });
    await client.callTool(echo());
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    for (const count of [1, 2, 3]) {
      clock.advance(PING_INTERVAL_MS);
      await eventually(() => pings === count);
      // The server has sent its pong by now, but it still has to arrive.
      expect((await client.callTool(echo())).text()).toBe("ok");
    }
    expect(host.upgrades).toHaveLength(1);
    await client.close();
    expect(clock.pending).toBe(0);
  });

  it("detects a silently dropped connection, and its calls fail at once", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket((message) => (isToolCall(message) ? undefined : false), {
      autoPong: false,
    });
    await using client = createTestClient(host.url, { timeouts: { requestMs: 0, totalMs: 0 } }, { clock });
    await client.ensureSession();
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    const call = rejection(client.callTool(echo()));
    clock.advance(PING_INTERVAL_MS);
    await eventually(() => pings === 1);
    expect(client.state).toBe("ready");
    clock.advance(PING_INTERVAL_MS);
    expect(await call).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      message: expect.stringContaining("it did not respond to a ping"),
    });
    expect(client.state).toBe("idle");
    await eventually(() => host.openConnections === 0);
    expect(clock.pending).toBe(0);
  });

  it("counts any message as activity", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket(() => false, { autoPong: false });
    await using client = createTestClient(host, {}, { clock });
    let notifications = 0;
    client.on("notification", () => (notifications += 1));
    await client.ensureSession();
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    for (const count of [1, 2, 3]) {
      clock.advance(PING_INTERVAL_MS);
      await eventually(() => pings === count);
      for (const socket of host.sockets)
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message" }));
      await eventually(() => notifications === count);
    }
    expect(host.upgrades).toHaveLength(1);
  });
});

describe("closing a WebSocket", () => {
  it("sends the close code 1000", async () => {
    await using host = await startRawWebSocket();
    const client = createTestClient(host);
    await client.ensureSession();
    const [socket] = host.sockets;
    const code = new Promise((resolve) => socket?.once("close", resolve));
    await client.close();
    expect(await code).toBe(1000);
  });

  it("does not wait for a server that does not complete the closing handshake", async () => {
    await using host = await startRawWebSocket();
    const clock = new FakeClock();
    const client = createTestClient(host, {}, { clock });
    await client.ensureSession();
    for (const socket of host.sockets) socket.pause();
    await clock.advanceUntilSettled(client.close(), 1_000);
    for (const socket of host.sockets) socket.resume();
    await eventually(() => host.openConnections === 0);
  });

  it("fails pending calls", async () => {
    let isReceived = false;
    await using host = await startRawWebSocket((message) => {
      isReceived ||= isToolCall(message);
      return isToolCall(message) ? undefined : false;
    });
    const client = createTestClient(host);
    await client.ensureSession();
    const call = rejection(client.callTool(echo()));
    await eventually(() => isReceived);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    await eventually(() => host.openConnections === 0);
  });
});
