import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  recordWarnings,
  rejection,
  times,
} from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { startRawServer } from "../../fixtures/raw-server.js";

describe("the first calls", () => {
  it("open the connection, not the constructor", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    expect(client.state).toBe("idle");
    expect(client.isConnected).toBe(false);
    expect(server.socketsOpened).toBe(0);
  });

  it("share one handshake", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const calls = times(20, (n) => client.callTool(echo(`n${n}`)));
    expect(client.state).toBe("connecting");
    const results = await Promise.all(calls);
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `n${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("notifications/initialized")).toHaveLength(1);
    expect(client.state).toBe("ready");
    expect(client.isConnected).toBe(true);
  });

  it("make the server metadata available", async () => {
    await using server = await startMcpTestServer({ instructions: "Be kind." });
    await using client = createTestClient(server);
    await client.ensureSession();
    expect(client.serverInfo).toEqual({ name: "mcp-test-server", version: "1.0.0", title: undefined });
    expect(client.capabilities).toEqual({ tools: { listChanged: true }, logging: {} });
    expect(client.instructions).toBe("Be kind.");
    expect(client.sessionId).toBe(server.openSessions[0]);
  });

  it("send session id and protocol version, which the handshake does not", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { headers: { "x-team": "north" } });
    await client.callTool(echo());
    const [initialize, call] = [server.received("initialize")[0], server.received("tools/call")[0]];
    expect(initialize?.headers["mcp-session-id"]).toBeUndefined();
    expect(initialize?.headers["x-team"]).toBe("north");
    expect(call?.headers["mcp-session-id"]).toBe(client.sessionId);
    expect(call?.headers["mcp-protocol-version"]).toBe("2025-11-25");
    expect(call?.headers["x-team"]).toBe("north");
    expect(call?.headers["accept-encoding"]).toBe("identity");
  });
});

describe("a failed handshake", () => {
  it.each([
    ["500", { type: "status", status: 500 }, "server-error"],
    ["401", { type: "status", status: 401 }, "unauthorized"],
    ["a timeout", { type: "hang" }, "timeout"],
    ["a disconnect", { type: "disconnect", when: "before" }, "connection-lost"],
    ["an HTML page", { type: "html" }, "invalid-response"],
    ["an invalid result", { type: "result", result: { weather: "fine" } }, "invalid-response"],
  ] as const)("with %s rejects all waiting calls, and the next call tries again", async (_, fault, kind) => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, { timeouts: { connectMs: 200 } }, { clock });
    const removeFault = server.addFault(fault, { method: "initialize" });

    const calls = client.callTools(
      times(10, () => echo()),
      { concurrency: 10 },
    );
    await server.waitFor("initialize");
    if (kind === "timeout") clock.advance(200);
    const outcomes = await calls;

    expect(outcomes.map((outcome) => !outcome.ok && outcome.error.kind)).toEqual(times(10, () => kind));
    expect(outcomes[0]).toMatchObject({
      attempts: 0,
      error: { server: "test", tool: "echo", outcomeUnknown: false },
    });
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("tools/call")).toHaveLength(0);
    expect(client.state).toBe("idle");
    removeFault();
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    await eventually(() => server.openSessions.length === 1);
  });

  it("with a refused connection has kind not-sent, and works once the server runs", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await server.stop();
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", attempts: 0, outcomeUnknown: false, server: "test" });
    expect(failure.cause).toMatchObject({ code: "ECONNREFUSED" });
    await server.start();
    expect((await client.callTool(echo("up"))).text()).toBe("up");
  });

  it("with an unknown host has kind not-sent", async () => {
    await using client = new McpClient({ name: "lost", url: "http://no-such-host.invalid/mcp" });
    const failure = await rejection(client.callTool(echo()));
    expect(failure.kind).toBe("not-sent");
    expect(failure.message).toContain("no-such-host.invalid");
  });

  it("with an unsupported version has kind unsupported-protocol, and the session is terminated", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const result = {
      protocolVersion: "1999-01-01",
      capabilities: {},
      serverInfo: { name: "old", version: "0" },
    };
    server.addFault({ type: "result", result }, { method: "initialize", times: 1 });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol" });
    expect(failure.message).toContain("1999-01-01");
    await eventually(() => server.openSessions.length === 0);
    expect((await client.callTool(echo("now"))).text()).toBe("now");
  });

  it("with an already initialized single SDK transport includes the server's message", async () => {
    await using server = await startMcpTestServer({ sessionMode: "single" });
    await using first = createTestClient(server);
    await first.ensureSession();
    await using second = createTestClient(server);
    const failure = await rejection(second.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 400, code: -32600 });
    expect(failure.message).toContain("Server already initialized");
  });
});

describe("notifications/initialized", () => {
  it.each([
    ["is rejected", { type: "status", status: 500 }],
    ["is disconnected", { type: "disconnect", when: "before" }],
  ] as const)("is optional: the call works when it %s", async (_, fault) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    server.addFault(fault, { method: "notifications/initialized" });
    expect((await client.callTool(echo("all the same"))).text()).toBe("all the same");
  });
});

describe("redirects", () => {
  it("within the origin are followed, as for a missing trailing slash", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    server.addFault({ type: "status", status: 307, headers: { location: "/mcp/" } }, { times: 1 });
    expect((await client.callTool(echo("there"))).text()).toBe("there");
    expect(server.requests[1]).toMatchObject({ method: "initialize", url: "/mcp/" });
  });

  it("to another origin are not followed, so no credentials are sent there", async () => {
    await using otherServer = await startRawServer();
    const { origin } = new URL(otherServer.url);
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { headers: { authorization: "Bearer s3cretToken" } });
    server.addFault({
      type: "status",
      status: 307,
      headers: { location: `${origin}/mcp?token=s3cretToken` },
    });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 307 });
    expect(failure.message).toContain(`if ${origin} is correct`);
    expect(failure.message).not.toContain("s3cretToken");
    expect(otherServer.requests).toEqual([]);
  });

  it("are limited in number", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    server.addFault({ type: "status", status: 308, headers: { location: "/mcp" } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 308 });
    expect(server.requests).toHaveLength(4);
  });
});

describe("configured headers", () => {
  it("do not replace headers of the protocol, and a warning names them", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, {
      headers: {
        "Mcp-Session-Id": "mine",
        Accept: "text/html",
        "Content-Type": "text/plain",
        "Accept-Encoding": "gzip",
      },
    });
    const warnings = recordWarnings(client);
    await client.callTool(echo());
    for (const { headers } of server.received("POST")) {
      expect(headers).toMatchObject({
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "accept-encoding": "identity",
      });
      expect(headers["mcp-session-id"]).not.toBe("mine");
    }
    expect(warnings).toEqual([
      'Server "test": ignoring headers Mcp-Session-Id, Accept, Content-Type, Accept-Encoding: they are set by the protocol.',
    ]);
  });

  it("include the credentials of the URL", async () => {
    await using server = await startMcpTestServer();
    const url = server.url.replace("http://", "http://al%40ice:pass%3Aword@");
    await using client = new McpClient({ name: "basic", url });
    await client.callTool(echo());
    expect(server.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from("al@ice:pass:word").toString("base64")}`,
    );
  });
});
