import { describe, expect, it } from "vitest";
import {
  UNKNOWN_SESSION_RESPONSES,
  type UnknownSessionResponse,
  startMcpTestServer,
} from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  rejection,
  deferred,
  times,
  recordWarnings,
} from "../../fixtures/clients.js";

const RESPONSES = Object.keys(UNKNOWN_SESSION_RESPONSES) as UnknownSessionResponse[];

describe.each(["json", "sse"] as const)("a lost session with %s responses", (mode) => {
  it.each(RESPONSES)("(%s): 50 concurrent calls share one new handshake", async (response) => {
    await using server = await startMcpTestServer({ responseFormat: mode });
    await using client = createTestClient(server);
    await client.callTool(echo());
    const lostId = client.sessionId;
    server.dropSessions(response);

    const results = await Promise.all(times(50, (n) => client.callTool(echo(`n${n}`))));

    expect(results.map((result) => result.text())).toEqual(times(50, (n) => `n${n}`));
    expect(server.executions).toHaveLength(51);
    const handshakes = server.received("initialize");
    expect(handshakes).toHaveLength(2);
    expect(handshakes[1]?.headers["mcp-session-id"]).toBeUndefined();
    expect(client.sessionId).not.toBe(lostId);
    expect(client.sessions()).toMatchObject([{ generation: 2, inFlight: 0 }]);
  });
});

describe("recovery", () => {
  it("reuses the open sockets", async () => {
    await using server = await startMcpTestServer({ responseFormat: "json" });
    await using client = createTestClient(server);
    await client.callTool(echo());
    const before = server.socketsOpened;
    server.dropSessions();
    await client.callTool(echo());
    expect(server.socketsOpened).toBe(before);
  });

  it("works for a restarted server with a single SDK transport", async () => {
    await using server = await startMcpTestServer({ sessionMode: "single" });
    await using client = createTestClient(server);
    await client.callTool(echo("before"));
    await server.restart();
    expect((await client.callTool(echo("after"))).text()).toBe("after");
    expect(client.sessions()).toMatchObject([{ generation: 2 }]);
  });

  it("emits events", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const seen: string[] = [];
    client.on("sessionOpened", ({ generation }) => seen.push(`opened ${generation}`));
    client.on("sessionLost", ({ generation }) => seen.push(`lost ${generation}`));
    client.on("requestEnded", ({ tool, attempts, kind }) => seen.push(`${tool} ${attempts} ${kind}`));
    await client.callTool(echo());
    server.dropSessions();
    await client.callTool(echo());
    expect(seen).toEqual(["opened 1", "echo 1 undefined", "lost 1", "opened 2", "echo 2 undefined"]);
  });

  it("gives up after maxRecoveries new sessions, each tried twice", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { maxRecoveries: 3 } });
    await client.callTool(echo());
    server.dropSessions();
    server.addFault({ type: "status", status: 404, body: "session not found" }, { method: "tools/call" });

    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "session-lost", attempts: 7 });
    expect(server.received("initialize")).toHaveLength(1 + 3);
    expect(server.received("tools/call")).toHaveLength(1 + 7);
  });

  it("is shared by concurrent calls, and each fails if the session is lost again and again", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { maxRecoveries: 1 } });
    await client.callTool(echo());
    server.dropSessions();
    server.addFault({ type: "status", status: 404, body: "session not found" }, { method: "tools/call" });

    const outcomes = await client.callTools(
      times(20, () => echo()),
      { concurrency: 20 },
    );

    expect(outcomes.map((outcome) => (outcome.ok ? "ok" : outcome.error.kind))).toEqual(
      times(20, () => "session-lost"),
    );
    expect(server.received("initialize")).toHaveLength(2);
    expect(server.received("tools/call")).toHaveLength(1 + 60);
    expect(server.executions).toHaveLength(1);

    server.clearFaults();
    expect((await client.callTool(echo("fine again"))).text()).toBe("fine again");
  });

  it("is limited to one new session after a loss that no HTTP status reported", async () => {
    await using server = await startMcpTestServer({
      tools: [{ name: "echo", annotations: { idempotentHint: true }, run: () => "never" }],
      intercept: async ({ body, response }) => {
        const { id, method } = body as { readonly id?: number; readonly method?: string };
        if (method !== "tools/call") return false;
        const error = { code: -32_001, message: "Session not found" };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
        return true;
      },
    });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({
      attempts: 2,
    });
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("can be turned off", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { session: { maxRecoveries: 0 } });
    await client.callTool(echo());
    server.dropSessions();
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "session-lost",
      status: 404,
      attempts: 1,
    });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
  });

  it("lets a call in flight on the old session finish", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      tools: [
        { name: "slow", run: async () => (await promise, "slow answer") },
        { name: "echo", run: ({ text }) => text },
      ],
    });
    await using client = createTestClient(server);
    await client.ensureSession();
    const slow = client.callTool({ name: "slow" });
    await server.waitFor("tools/call");
    server.dropSessions();
    expect((await client.callTool(echo("new session"))).text()).toBe("new session");
    resolve();
    expect((await slow).text()).toBe("slow answer");
    expect(server.executions.map(({ tool }) => tool)).toEqual(["slow", "echo"]);
  });
});

describe("not a lost session:", () => {
  it("a 404 for an unknown method", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32601, message: "Method not found" },
    });
    server.addFault({ type: "status", status: 404, body }, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-found",
      code: -32601,
      status: 404,
    });
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("a 400 for another reason", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.ensureSession();
    server.addFault(
      { type: "status", status: 400, body: "city is missing" },
      { method: "tools/call", times: 1 },
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 400 });
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("a 404 from a server without sessions", async () => {
    await using server = await startMcpTestServer({ sessionMode: "stateless" });
    await using client = createTestClient(server);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(client.sessionId).toBeUndefined();
    server.addFault(
      { type: "status", status: 404, body: "session not found" },
      { method: "tools/call", times: 1 },
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 404 });
    expect(server.received("initialize")).toHaveLength(1);
  });
});

describe("classify", () => {
  it("can map an error code to a lost session", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, {
      classify: ({ code }) => (code === -32600 ? "session-lost" : undefined),
    });
    await client.callTool(echo());
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32600, message: "who are you?" },
    });
    server.addFault({ type: "status", status: 400, body }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(server.received("initialize")).toHaveLength(2);
  });

  it("causes a warning when it throws or returns an unknown kind", async () => {
    await using server = await startMcpTestServer();
    const replies: (() => never)[] = [
      () => {
        throw new Error("oops");
      },
      () => "no-such-kind" as never,
    ];
    await using client = createTestClient(server, { classify: () => replies.shift()?.() });
    const warnings = recordWarnings(client);
    server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    expect(warnings).toEqual([expect.stringContaining("oops"), expect.stringContaining("no-such-kind")]);
  });
});
