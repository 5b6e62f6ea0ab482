import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { McpClient, type McpClientOptions } from "../../../src/index.js";
import {
  type Fault,
  McpTestServer,
  type McpTestServerOptions,
  type ReceivedRequest,
  startMcpTestServer,
} from "../../../src/testing/index.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import {
  createTestClient,
  deferred,
  echo,
  eventually,
  QUICK_RETRY,
  rejection,
  times,
  type UrlDefinition,
} from "../../fixtures/clients.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const FRESH_SESSION = { ...QUICK_RETRY, retry: { ...QUICK_RETRY.retry, freshSession: true } } as const;
const IDEMPOTENT = { idempotent: true } as const;
const cut: Fault = { type: "disconnect", when: "before" };

const sessionIdOf = ({ headers }: ReceivedRequest) => headers["mcp-session-id"];
const callSessionIds = (server: McpTestServer) => server.received("tools/call").map(sessionIdOf);

/** A server and a client with an open session. */
async function startScene(
  era: (typeof ERAS)[number],
  serverOptions: McpTestServerOptions = {},
  definition: UrlDefinition = {},
  options: McpClientOptions = {},
) {
  const server = await startEraServer(era, serverOptions);
  const client = createTestClient(server, { ...FRESH_SESSION, ...definition }, options);
  await client.ensureSession();
  return disposeWith({ server, client }, client, server);
}

/** The handshake method of each era. */
const HANDSHAKE_METHODS = { legacy: "initialize", modern: "server/discover" } as const;

describe.each(ERAS)("with retry.freshSession, a request to a %s server", (era) => {
  const countHandshakes = (server: McpTestServer) => server.received(HANDSHAKE_METHODS[era]).length;

  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 502 }],
    ["timeout", { type: "hang" }],
  ] as const)("is retried after %s", async (kind, fault) => {
    const clock = new FakeClock();
    await using scene = await startScene(era, {}, { timeouts: { requestMs: 1_000 } }, { clock });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    server.addFault(fault, { method: "tools/call", times: 1 });
    const call = client.callTool(echo("again"), IDEMPOTENT);
    await server.waitFor("tools/call");
    if (kind === "timeout") clock.advance(1_000);
    expect((await clock.advanceUntilSettled(call, 1)).text()).toBe("again");
    expect(kinds).toEqual([kind]);
    expect(client.sessions()).toMatchObject([{ generation: 1, inFlight: 0 }]);
  });

  it("has the same retry limit as without it", async () => {
    await using scene = await startScene(era);
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call" });
    const failure = await rejection(client.callTool(echo(), IDEMPOTENT));
    expect(failure).toMatchObject({ kind: "connection-lost", attempts: 3, outcomeUnknown: true });
  });

  it("is not retried unless it is idempotent", async () => {
    await using scene = await startScene(era);
    const { server, client } = scene;
    const before = countHandshakes(server);
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost", attempts: 1 });
    expect(countHandshakes(server)).toBe(before);
  });

  it("does not affect other calls", async () => {
    const { promise, resolve } = deferred();
    await using scene = await startScene(era, {
      tools: [
        { name: "slow", run: async () => (await promise, "slow") },
        { name: "echo", run: ({ text }) => String(text) },
      ],
    });
    const { server, client } = scene;
    const slow = client.callTool({ name: "slow" });
    await eventually(() => server.executions.length === 1);
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", tool: "echo", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    resolve();
    expect((await slow).text()).toBe("slow");
  });

  it("gets its own response when many calls fail together", async () => {
    // As many retries as faults: a retry may run before the first attempt of another call and hit its fault.
    await using scene = await startScene(era, {}, { retry: { ...FRESH_SESSION.retry, maxRetries: 8 } });
    const { server, client } = scene;
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 8 });
    const results = await Promise.all(times(8, (n) => client.callTool(echo(`n${n}`), IDEMPOTENT)));
    expect(results.map((result) => result.text())).toEqual(times(8, (n) => `n${n}`));
  });

  it("waits its turn in a sequential session", async () => {
    let [running, maxRunning] = [0, 0];
    const run = async () => {
      maxRunning = Math.max(maxRunning, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return "ok";
    };
    await using scene = await startScene(
      era,
      { tools: [{ name: "echo", run }] },
      { session: { sequential: true } },
    );
    const { server, client } = scene;
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 2 });
    await Promise.all(times(6, () => client.callTool(echo(), IDEMPOTENT)));
    expect(maxRunning).toBe(1);
  });

  it("ends with the client, also during a retry", async () => {
    const { promise, resolve } = deferred();
    await using server = await startEraServer(era, {
      tools: [{ name: "slow", run: async () => (await promise, "slow") }],
    });
    const client = createTestClient(server, FRESH_SESSION);
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    const call = rejection(client.callTool({ name: "slow" }, IDEMPOTENT));
    await eventually(() => server.executions.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    expect(server.openSessions).toEqual([]);
    await eventually(() => server.openSockets === 0);
    resolve();
  });
});

describe("a server that changes its protocol era before the retry", () => {
  it.each([
    ["legacy", "modern"],
    ["modern", "legacy"],
  ] as const)("still responds: %s, then %s", async (before, after) => {
    await using server = await startEraServer(before);
    await using client = createTestClient(server, FRESH_SESSION);
    await client.ensureSession();
    client.on("requestRetried", () => {
      server.era = after;
    });
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect((await client.callTool(echo("y"))).text()).toBe("y");
  });
});

describe("a retry on a fresh session", () => {
  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 502 }],
    ["server-error", { type: "status", status: 500 }],
    ["timeout", { type: "hang" }],
  ] as const)("follows %s, and its session is closed afterwards", async (kind, fault) => {
    const clock = new FakeClock();
    await using scene = await startScene("legacy", {}, { timeouts: { requestMs: 1_000 } }, { clock });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    const shared = client.sessionId;
    server.addFault(fault, { method: "tools/call", times: 1 });

    const call = client.callTool(echo("again"), IDEMPOTENT);
    await server.waitFor("tools/call");
    if (kind === "timeout") clock.advance(1_000);
    expect((await clock.advanceUntilSettled(call, 1)).text()).toBe("again");

    expect(kinds).toEqual([kind]);
    const [first, second] = callSessionIds(server);
    expect(first).toBe(shared);
    expect(second).not.toBe(shared);
    await eventually(() => server.openSessions.length === 1);
    expect(server.received("DELETE").map(sessionIdOf)).toEqual([second]);
    expect(server.openSessions).toEqual([shared]);
    expect(client.sessionId).toBe(shared);
    expect(client.sessions()).toMatchObject([{ id: shared, generation: 1, inFlight: 0 }]);
    await client.callTool(echo());
    expect(callSessionIds(server).at(-1)).toBe(shared);
  });

  it("uses another session each time, within the retry limit", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), IDEMPOTENT))).toMatchObject({
      kind: "connection-lost",
      attempts: 3,
      outcomeUnknown: true,
    });
    expect(new Set(callSessionIds(server)).size).toBe(3);
    await eventually(() => server.openSessions.length === 1);
  });

  it("uses one session per call when many fail together", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    const shared = client.sessionId;
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 8 });
    const results = await Promise.all(times(8, (n) => client.callTool(echo(`n${n}`), IDEMPOTENT)));
    expect(results.map((result) => result.text())).toEqual(times(8, (n) => `n${n}`));
    expect(new Set(callSessionIds(server)).size).toBe(9);
    await eventually(() => server.openSessions.length === 1);
    expect(client.sessionId).toBe(shared);
  });

  it("does not follow failures that are unrelated to the session", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    server.addFault({ type: "status", status: 429 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("is off by default", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, QUICK_RETRY);
    server.addFault(cut, { method: "tools/call", times: 1 });
    await client.callTool(echo(), IDEMPOTENT);
    expect(server.received("initialize")).toHaveLength(1);
    expect(new Set(callSessionIds(server)).size).toBe(1);
  });
});

describe("a fresh session that cannot be opened", () => {
  it("keeps the original failure when the server rejects a second session", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "status", status: 400 }, { method: "initialize" });
    expect(await rejection(client.callTool(echo(), IDEMPOTENT))).toMatchObject({
      kind: "connection-lost",
      attempts: 1,
      outcomeUnknown: true,
    });
    expect(server.openSessions).toEqual([client.sessionId]);
  });

  it("is abandoned after the handshake timeout; then the shared session is used", async () => {
    const clock = new FakeClock();
    await using scene = await startScene("legacy", {}, { timeouts: { connectMs: 100 } }, { clock });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const call = client.tryCallTool(echo("x"), IDEMPOTENT);
    const isHanging = eventually(() => server.received("initialize").length === 2);
    await clock.advanceUntilSettled(isHanging, 1);
    clock.advance(100);
    const outcome = await clock.advanceUntilSettled(call, 1);
    expect(outcome).toMatchObject({ ok: true, attempts: 2 });
    expect(new Set(callSessionIds(server))).toEqual(new Set([client.sessionId]));
    expect(server.openSessions).toEqual([client.sessionId]);
  });

  it("is abandoned at once when the call is aborted", async () => {
    const clock = new FakeClock();
    await using scene = await startScene("legacy", {}, {}, { clock });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { ...IDEMPOTENT, signal: controller.signal }));
    const isHanging = eventually(() => server.received("initialize").length === 2);
    await clock.advanceUntilSettled(isHanging, 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await clock.advanceUntilSettled(client.close(), 1_000);
  });

  it("is terminated on the server when the call is aborted during the handshake", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "delay", ms: 100 }, { method: "initialize" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { ...IDEMPOTENT, signal: controller.signal }));
    await eventually(() => server.received("initialize").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => server.received("DELETE").length === 1);
    expect(server.openSessions).toEqual([client.sessionId]);
  });
});

describe("close()", () => {
  it("cancels the handshake of a fresh session", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const client = createTestClient(server, FRESH_SESSION, { clock });
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const call = rejection(client.callTool(echo(), IDEMPOTENT));
    const isHanging = eventually(() => server.received("initialize").length === 2);
    await clock.advanceUntilSettled(isHanging, 1);
    await clock.advanceUntilSettled(client.close(), 1_000);
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSockets === 0);
  });
});

describe("the same session is used for the retry", () => {
  it("with a modern server, which has no sessions", async () => {
    await using server = await startEraServer("modern");
    await using client = createTestClient(server, FRESH_SESSION);
    await client.ensureSession();
    const requestsBefore = server.requests.length;
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.requests.slice(requestsBefore).map(({ method }) => method)).toEqual([
      "tools/call",
      "tools/call",
    ]);
  });

  it("with a stateless server", async () => {
    await using scene = await startScene("legacy", { sessionMode: "stateless" });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("with a configured session id", async () => {
    await using scene = await startScene("legacy");
    const { server, client } = scene;
    const session = { id: client.sessionId ?? "", protocolVersion: "2025-06-18" };
    await using configured = createTestClient(server, { ...FRESH_SESSION, session });
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await configured.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("DELETE")).toHaveLength(0);
  });

  it("with an in-process server", async () => {
    const server = new McpTestServer({ tools: [{ name: "slow", run: () => new Promise(() => undefined) }] });
    const clock = new FakeClock();
    await using client = new McpClient(
      { name: "test", server, ...FRESH_SESSION, timeouts: { requestMs: 100 } },
      { clock },
    );
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }, IDEMPOTENT));
    for (let attempts = 1; attempts <= 3; attempts += 1) {
      const isRunning = eventually(() => server.executions.length === attempts);
      await clock.advanceUntilSettled(isRunning, 1);
      clock.advance(100);
    }
    expect(await call).toMatchObject({ kind: "timeout", attempts: 3 });
    expect(new Set(server.executions.map(({ sessionId }) => sessionId)).size).toBe(1);
  });
});

it("a custom transport is opened again if its server has sessions", async () => {
  await using server = await startMcpTestServer();
  await using client = new McpClient({
    name: "test",
    openTransport: () => new StreamableHTTPClientTransport(new URL(server.url)),
    ...FRESH_SESSION,
  });
  await client.ensureSession();
  server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 1 });
  expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
  expect(new Set(callSessionIds(server)).size).toBe(2);
  await eventually(() => server.openSessions.length === 1);
  expect(server.openSessions).toEqual([client.sessionId]);
});
