import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, times } from "../../fixtures/clients.js";

describe("the first calls", () => {
  it("open nothing before they are made", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    expect(client.state).toBe("idle");
    expect(client.isConnected).toBe(false);
    expect(server.socketsOpened).toBe(0);
  });

  it("share one handshake", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    const calls = times(20, (n) => client.callTool(echo(`n${n}`)));
    expect(client.state).toBe("connecting");
    const results = await Promise.all(calls);
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `n${n}`));
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("notifications/initialized")).toHaveLength(1);
    expect(client.state).toBe("ready");
    expect(client.isConnected).toBe(true);
  });

  it("know the server afterwards", async () => {
    await using server = await startMcpTestServer({ instructions: "Be kind." });
    await using client = clientOf(server);
    await client.ensureSession();
    expect(client.serverInfo).toEqual({ name: "mcp-test-server", version: "1.0.0", title: undefined });
    expect(client.capabilities).toEqual({ tools: { listChanged: true }, logging: {} });
    expect(client.instructions).toBe("Be kind.");
    expect(client.sessionId).toBe(server.openSessions[0]);
  });

  it("send session id and protocol version from then on, and none in the handshake", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { headers: { "x-team": "north" } });
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

describe("a handshake that fails", () => {
  it.each([
    ["is refused with 500", { type: "status", status: 500 }, "server-error"],
    ["is refused with 401", { type: "status", status: 401 }, "unauthorized"],
    ["hangs beyond connectMs", { type: "hang" }, "timeout"],
    ["is cut off", { type: "disconnect", when: "before" }, "connection-lost"],
    ["is answered with a page", { type: "html" }, "invalid-response"],
    ["is answered with nonsense", { type: "result", result: { weather: "fine" } }, "invalid-response"],
  ] as const)(
    "because it %s: everybody gets the reason, the next call tries afresh",
    async (_, fault, kind) => {
      await using server = await startMcpTestServer();
      await using client = clientOf(server, { timeouts: { connectMs: 200 } });
      const mend = server.addFault(fault, { method: "initialize" });

      const outcomes = await client.callTools(
        times(10, () => echo()),
        { concurrency: 10 },
      );

      expect(outcomes.map((outcome) => !outcome.ok && outcome.error.kind)).toEqual(times(10, () => kind));
      expect(outcomes[0]).toMatchObject({
        attempts: 0,
        error: { server: "test", tool: "echo", outcomeUnknown: false },
      });
      expect(server.received("initialize")).toHaveLength(1);
      expect(server.received("tools/call")).toHaveLength(0);
      expect(client.state).toBe("idle");
      mend();
      expect((await client.callTool(echo("afresh"))).text()).toBe("afresh");
      await eventually(() => server.openSessions.length === 1);
    },
  );

  it("because nobody listens: kind not-sent, and it works once somebody does", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    await server.stop();
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", attempts: 0, outcomeUnknown: false, server: "test" });
    expect(failure.message).toContain("Is it running?");
    expect(failure.cause).toMatchObject({ code: "ECONNREFUSED" });
    await server.start();
    expect((await client.callTool(echo("up"))).text()).toBe("up");
  });

  it("because the host is unknown: kind not-sent", async () => {
    await using client = new McpClient({ name: "lost", url: "http://no-such-host.invalid/mcp" });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure.kind).toBe("not-sent");
    expect(failure.message).toContain("no-such-host.invalid");
  });

  it("because the versions do not meet: kind unsupported-protocol, and the server's session is ended", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    const result = {
      protocolVersion: "1999-01-01",
      capabilities: {},
      serverInfo: { name: "old", version: "0" },
    };
    server.addFault({ type: "result", result }, { method: "initialize", times: 1 });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unsupported-protocol" });
    expect(failure.message).toContain("1999-01-01");
    await eventually(() => server.openSessions.length === 0);
    expect((await client.callTool(echo("now"))).text()).toBe("now");
  });

  it("because one bare SDK transport was initialised by somebody else: the server's words come up", async () => {
    await using server = await startMcpTestServer({ sessionMode: "single" });
    await using first = clientOf(server);
    await first.ensureSession();
    await using second = clientOf(server);
    const failure = await failureOf(second.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 400, code: -32600 });
    expect(failure.message).toContain("Server already initialized");
  });
});

describe("the handshake's last message", () => {
  it.each([
    ["is refused", { type: "status", status: 500 }],
    ["is cut off", { type: "disconnect", when: "before" }],
  ] as const)("may fail: it %s", async (_, fault) => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    server.addFault(fault, { method: "notifications/initialized" });
    expect((await client.callTool(echo("all the same"))).text()).toBe("all the same");
  });
});

describe("redirects", () => {
  it("within the origin are followed, as for a slash that was left out", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    server.addFault({ type: "status", status: 307, headers: { location: "/mcp/" } }, { times: 1 });
    expect((await client.callTool(echo("there"))).text()).toBe("there");
    expect(server.requests[1]).toMatchObject({ method: "initialize", url: "/mcp/" });
  });

  it("to another origin are not: no credential goes there", async () => {
    const visits: string[] = [];
    const elsewhere = createServer((request, response) => {
      visits.push(request.url ?? "");
      response.end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { headers: { authorization: "Bearer s3cretToken" } });
    server.addFault({
      type: "status",
      status: 307,
      headers: { location: `${origin}/mcp?token=s3cretToken` },
    });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 307 });
    expect(failure.message).toContain(`if ${origin} is right`);
    expect(failure.message).not.toContain("s3cretToken");
    expect(visits).toEqual([]);
    elsewhere.close();
  });

  it("that never end are given up", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    server.addFault({ type: "status", status: 308, headers: { location: "/mcp" } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 308 });
    expect(server.requests).toHaveLength(4);
  });
});

describe("configured headers", () => {
  it("replace nothing that the protocol owns, and a warning names them", async () => {
    await using server = await startMcpTestServer();
    const warnings: string[] = [];
    await using client = clientOf(server, {
      headers: {
        "Mcp-Session-Id": "mine",
        Accept: "text/html",
        "Content-Type": "text/plain",
        "Accept-Encoding": "gzip",
      },
    });
    client.on("warning", ({ message }) => warnings.push(message));
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
      'Server "test": the protocol sets Mcp-Session-Id, Accept, Content-Type, Accept-Encoding itself; left out.',
    ]);
  });

  it("are joined by the user and password of the URL", async () => {
    await using server = await startMcpTestServer();
    const url = server.url.replace("http://", "http://al%40ice:pass%3Aword@");
    await using client = new McpClient({ name: "basic", url });
    await client.callTool(echo());
    expect(server.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from("al@ice:pass:word").toString("base64")}`,
    );
  });
});
