import { describe, expect, it } from "vitest";
import { createMcpTools, McpClient, type McpClientOptions } from "../../../src/index.js";
import { McpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, failureOf, gate, ONCE, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import {
  isCall,
  type RawMessage,
  sendText,
  startRawWebSocket,
  WebSocketHost,
} from "../../fixtures/websocket-server.js";

const BEAT_MS = 30_000;

function clientOf(url: string, definition: object = {}, options: McpClientOptions = {}): McpClient {
  return new McpClient({ name: "socket", ...ONCE, url, ...definition }, options);
}

describe("over a WebSocket", () => {
  it("100 calls that are answered in reverse order get each their own answer", async () => {
    const asked: RawMessage[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message)) return false;
      if (asked.push(message) < 100) return;
      for (const { id, params } of asked.toReversed())
        sendText(socket, id, (params["arguments"] as { text: string }).text);
      return;
    });
    await using client = clientOf(host.url);
    const results = await Promise.all(times(100, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(100, (n) => `n${n}`));
    expect(host.upgrades).toHaveLength(1);
  });

  it("headers go with the request that opens it; the protocol's own cannot be replaced", async () => {
    await using host = await startRawWebSocket();
    const owned = { "Sec-WebSocket-Protocol": "other", "Sec-WebSocket-Key": "x", Upgrade: "h2" };
    const url = `${host.url.replace("ws://", "ws://ann:p%40ss@")}?tenant=a#part`;
    await using client = clientOf(url, { headers: { "X-Key": "k", ...owned } });
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
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
      "the protocol sets Sec-WebSocket-Protocol, Sec-WebSocket-Key, Upgrade itself",
    );
  });

  it("each identity has a connection of its own, opened with its own credentials", async () => {
    await using host = await startRawWebSocket();
    await using client = clientOf(host.url, {
      headers: ({ configurable }: { configurable: { user?: string } }) => ({
        "x-user": configurable.user ?? "",
      }),
      identity: ({ configurable }: { configurable: { user?: string } }) => configurable.user ?? "",
    });
    const as = (user: string) => ({ context: { configurable: { user } } });
    for (const user of ["ann", "bob", "ann"]) await client.callTool(echo(), as(user) as object);
    expect(host.upgrades.map(({ headers }) => headers["x-user"])).toEqual(["ann", "bob"]);
  });

  it("a token that was refused is asked for once more", async () => {
    const tokens = ["old", "new"];
    await using host = await startRawWebSocket(() => false, {
      verifyClient: ({ req }, done) => done(req.headers.authorization === "Bearer new", 401),
    });
    await using client = clientOf(host.url, { auth: () => tokens.shift() ?? "none", identity: () => "me" });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(host.upgrades).toHaveLength(1);
  });

  it("a server speaks unasked, and is answered", async () => {
    const pongs: unknown[] = [];
    await using host = await startRawWebSocket((message, socket) => {
      if (message.method === "notifications/initialized") {
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: "from-server", method: "ping" }));
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
      } else if (message.method === undefined) pongs.push(message);
      else return false;
      return;
    });
    await using client = clientOf(host.url);
    let changes = 0;
    client.on("toolsChanged", () => (changes += 1));
    await client.ensureSession();
    await eventually(() => changes === 1 && pongs.length === 1);
    expect(pongs).toEqual([{ jsonrpc: "2.0", id: "from-server", result: {} }]);
  });

  it("a cancelled call is told to the server, one that was cancelled before is not sent at all", async () => {
    const seen: RawMessage[] = [];
    await using host = await startRawWebSocket((message) => {
      seen.push(message);
      return isCall(message) ? undefined : false;
    });
    await using client = clientOf(host.url);
    await client.ensureSession();
    const controller = new AbortController();
    const call = failureOf(client.callTool(echo(), { signal: controller.signal }));
    const early = failureOf(client.callTool(echo(), { signal: AbortSignal.abort("never") }));
    expect(await early).toBe("never");
    await eventually(() => seen.some(isCall));
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => seen.at(-1)?.method === "notifications/cancelled");
    const { id } = seen.find(isCall) ?? { id: undefined };
    expect(seen.at(-1)?.params).toMatchObject({ requestId: id });
    expect(seen.filter(isCall)).toHaveLength(1);
  });

  it("a call that is cancelled before it was written leaves no trace", async () => {
    const seen: RawMessage[] = [];
    await using host = await startRawWebSocket((message) => {
      seen.push(message);
      return false;
    });
    await using client = clientOf(host.url);
    const controller = new AbortController();
    const call = failureOf(client.callTool(echo("first"), { signal: controller.signal }));
    controller.abort("enough");
    expect(await call).toBe("enough");
    expect((await client.callTool(echo("second"))).text()).toBe("ok");
    expect(seen.map(({ method }) => method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
  });

  it("arguments that are no JSON are refused before anything is sent", async () => {
    await using host = await startRawWebSocket();
    await using client = clientOf(host.url);
    const failure = await failureOf(client.callTool({ name: "echo", args: { n: 1n } }));
    expect(failure).toMatchObject({ kind: "invalid-config", outcomeUnknown: false });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("a WebSocket that is lost", () => {
  it("fails what was written at once; held tools go on working, with one new connection", async () => {
    const { opened, open } = gate();
    const server = new McpTestServer({ tools: [{ name: "slow", run: async () => (await opened, "done") }] });
    await using host = await WebSocketHost.serve(server);
    await using mcp = await createMcpTools({ socket: { url: host.url, ...ONCE } });
    const [tool] = mcp.tools;
    const invoke = async (): Promise<unknown> => tool?.invoke({});
    const calls = times(20, () => failureOf(invoke()));
    await eventually(() => server.executions.length === 20);
    await host.stop();
    const failures = await Promise.all(calls);
    expect(failures.map(({ kind, outcomeUnknown }) => [kind, outcomeUnknown])).toEqual(
      times(20, () => ["connection-lost", true]),
    );
    expect(mcp.clients["socket"]?.state).toBe("idle");
    expect(await failureOf(invoke())).toMatchObject({ kind: "not-sent" });
    await host.start();
    open();
    const answers = await Promise.all(times(20, invoke));
    expect(answers).toEqual(times(20, () => "done"));
    expect(host.upgrades).toHaveLength(2);
    expect(server.executions).toHaveLength(40);
  });

  it("by the server's own goodbye says why, and the next call opens another", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message) || host.upgrades.length > 1) return false;
      socket.close(1012, "going down for token canary7f3a91");
      return;
    });
    await using client = clientOf(host.url, { headers: { "x-key": "canary7f3a91" } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      message: expect.stringContaining('closed with code 1012, "going down for token [redacted]"'),
    });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("while nobody called costs nobody a call", async () => {
    await using host = await startRawWebSocket();
    await using client = clientOf(host.url);
    await client.callTool(echo());
    for (const socket of host.sockets) socket.terminate();
    await eventually(() => client.state === "idle");
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(host.upgrades).toHaveLength(2);
  });

  it("with a goodbye that never ends is given up after a moment", async () => {
    await using host = await startRawWebSocket((message, socket) => {
      if (!isCall(message) || host.upgrades.length > 1) return false;
      // Half a goodbye: the frame is sent, and the connection below stays as it is.
      socket.close(1001);
      socket.pause();
      return;
    });
    await using client = clientOf(host.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    expect((await client.callTool(echo())).text()).toBe("ok");
  });
});

describe("the heartbeat of a WebSocket", () => {
  it("asks every 30 s, and a server that answers stays", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket();
    await using client = clientOf(host.url, {}, { clock });
    await client.callTool(echo());
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    for (const beat of [1, 2, 3]) {
      clock.advance(BEAT_MS);
      await eventually(() => pings === beat);
      // The server has answered by now, but the answer has to get here.
      expect((await client.callTool(echo())).text()).toBe("ok");
    }
    expect(host.upgrades).toHaveLength(1);
    await client.close();
    expect(clock.pending).toBe(0);
  });

  it("finds a server that is gone without a word, and its calls fail at once", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket((message) => (isCall(message) ? undefined : false), {
      autoPong: false,
    });
    await using client = clientOf(host.url, { timeouts: { requestMs: 0, totalMs: 0 } }, { clock });
    await client.ensureSession();
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    const call = failureOf(client.callTool(echo()));
    clock.advance(BEAT_MS);
    await eventually(() => pings === 1);
    expect(client.state).toBe("ready");
    clock.advance(BEAT_MS);
    expect(await call).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
      message: expect.stringContaining("it does not answer a ping"),
    });
    expect(client.state).toBe("idle");
    await eventually(() => host.openConnections === 0);
    expect(clock.pending).toBe(0);
  });

  it("takes any message for a sign of life", async () => {
    const clock = new FakeClock();
    let pings = 0;
    await using host = await startRawWebSocket(() => false, { autoPong: false });
    await using client = clientOf(host.url, {}, { clock });
    let heard = 0;
    client.on("notification", () => (heard += 1));
    await client.ensureSession();
    for (const socket of host.sockets) socket.on("ping", () => (pings += 1));
    for (const beat of [1, 2, 3]) {
      clock.advance(BEAT_MS);
      await eventually(() => pings === beat);
      for (const socket of host.sockets)
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message" }));
      await eventually(() => heard === beat);
    }
    expect(host.upgrades).toHaveLength(1);
  });
});

describe("closing a WebSocket", () => {
  it("says goodbye", async () => {
    await using host = await startRawWebSocket();
    const client = clientOf(host.url);
    await client.ensureSession();
    const [socket] = host.sockets;
    const code = new Promise((resolve) => socket?.once("close", resolve));
    await client.close();
    expect(await code).toBe(1000);
  });

  it("does not wait for a server that takes no goodbye", async () => {
    await using host = await startRawWebSocket();
    const client = clientOf(host.url);
    await client.ensureSession();
    for (const socket of host.sockets) socket.pause();
    await client.close();
    for (const socket of host.sockets) socket.resume();
    await eventually(() => host.openConnections === 0);
  });

  it("ends the calls that are under way", async () => {
    let isUnderWay = false;
    await using host = await startRawWebSocket((message) => {
      isUnderWay ||= isCall(message);
      return isCall(message) ? undefined : false;
    });
    const client = clientOf(host.url);
    await client.ensureSession();
    const call = failureOf(client.callTool(echo()));
    await eventually(() => isUnderWay);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    await eventually(() => host.openConnections === 0);
  });
});
