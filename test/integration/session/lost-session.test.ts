import { describe, expect, it } from "vitest";
import {
  UNKNOWN_SESSION_RESPONSES,
  type UnknownSessionResponse,
  startMcpTestServer,
} from "../../../src/testing/index.js";
import { clientOf, echo, failureOf, gate, times } from "../../fixtures/clients.js";

const answers = Object.keys(UNKNOWN_SESSION_RESPONSES) as UnknownSessionResponse[];

describe.each(["json", "sse"] as const)("a server that answers as %s forgets the session", (mode) => {
  it.each(answers)("and says so with %s: 50 calls at once share one new handshake", async (answer) => {
    await using server = await startMcpTestServer({ responseFormat: mode });
    await using client = clientOf(server);
    await client.callTool(echo());
    const lostId = client.sessionId;
    server.dropSessions(answer);

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
  it("uses the connections that are there", async () => {
    await using server = await startMcpTestServer({ responseFormat: "json" });
    await using client = clientOf(server);
    await client.callTool(echo());
    const before = server.socketsOpened;
    server.dropSessions();
    await client.callTool(echo());
    expect(server.socketsOpened).toBe(before);
  });

  it("works for one bare SDK transport that was restarted", async () => {
    await using server = await startMcpTestServer({ sessionMode: "single" });
    await using client = clientOf(server);
    await client.callTool(echo("before"));
    await server.restart();
    expect((await client.callTool(echo("after"))).text()).toBe("after");
    expect(client.sessions()).toMatchObject([{ generation: 2 }]);
  });

  it("is told as events", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    const seen: string[] = [];
    client.on("sessionOpened", ({ generation }) => seen.push(`opened ${generation}`));
    client.on("sessionLost", ({ generation }) => seen.push(`lost ${generation}`));
    client.on("requestEnded", ({ tool, attempts, kind }) => seen.push(`${tool} ${attempts} ${kind}`));
    await client.callTool(echo());
    server.dropSessions();
    await client.callTool(echo());
    expect(seen).toEqual(["opened 1", "echo 1 undefined", "lost 1", "opened 2", "echo 2 undefined"]);
  });

  it("is tried once a call: a session that is lost again is kind session-lost for each caller", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
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
    expect(server.received("tools/call")).toHaveLength(1 + 40);
    expect(server.executions).toHaveLength(1);

    server.clearFaults();
    expect((await client.callTool(echo("fine again"))).text()).toBe("fine again");
  });

  it("can be turned off", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { session: { maxRecoveries: 0 } });
    await client.callTool(echo());
    server.dropSessions();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "session-lost",
      status: 404,
      attempts: 1,
    });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
  });

  it("leaves a call in flight on the old session its own answer", async () => {
    const { opened, open } = gate();
    await using server = await startMcpTestServer({
      tools: [
        { name: "slow", run: async () => (await opened, "slow answer") },
        { name: "echo", run: ({ text }) => text },
      ],
    });
    await using client = clientOf(server);
    await client.ensureSession();
    const slow = client.callTool({ name: "slow" });
    await server.waitFor("tools/call");
    server.dropSessions();
    expect((await client.callTool(echo("new session"))).text()).toBe("new session");
    open();
    expect((await slow).text()).toBe("slow answer");
    expect(server.executions.map(({ tool }) => tool)).toEqual(["slow", "echo"]);
  });
});

describe("what is no lost session", () => {
  it("a 404 that is about the method", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    await client.ensureSession();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32601, message: "Method not found" },
    });
    server.addFault({ type: "status", status: 404, body }, { method: "tools/call", times: 1 });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-found",
      code: -32601,
      status: 404,
    });
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("a 400 about something else", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    await client.ensureSession();
    server.addFault(
      { type: "status", status: 400, body: "city is missing" },
      { method: "tools/call", times: 1 },
    );
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 400 });
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("a 404 of a server without sessions", async () => {
    await using server = await startMcpTestServer({ sessionMode: "stateless" });
    await using client = clientOf(server);
    expect((await client.callTool(echo("works"))).text()).toBe("works");
    expect(client.sessionId).toBeUndefined();
    server.addFault(
      { type: "status", status: 404, body: "session not found" },
      { method: "tools/call", times: 1 },
    );
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-request", status: 404 });
    expect(server.received("initialize")).toHaveLength(1);
  });
});

describe("classify", () => {
  it("lets a platform signal a lost session by a code", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, {
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

  it("costs a warning, not the call, when it throws or gives nonsense", async () => {
    await using server = await startMcpTestServer();
    const replies: (() => never)[] = [
      () => {
        throw new Error("oops");
      },
      () => "no-such-kind" as never,
    ];
    await using client = clientOf(server, { classify: () => replies.shift()?.() });
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    expect(warnings).toEqual([expect.stringContaining("oops"), expect.stringContaining("no-such-kind")]);
  });
});
