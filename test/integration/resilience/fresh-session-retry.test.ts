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
import { echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";

const FRESH_SESSION = {
  retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 5, freshSession: true },
  circuitBreaker: false,
} as const;
const IDEMPOTENT = { idempotent: true } as const;
const cut: Fault = { type: "disconnect", when: "before" };

function createClient(
  server: McpTestServer,
  definition: object = {},
  options: McpClientOptions = {},
): McpClient {
  return new McpClient({ name: "test", url: server.url, ...FRESH_SESSION, ...definition } as never, options);
}

const sessionIdOf = ({ headers }: ReceivedRequest) => headers["mcp-session-id"];
const callSessionIds = (server: McpTestServer) => server.received("tools/call").map(sessionIdOf);

/** A server and a client with an open session. */
async function startScene(era: (typeof ERAS)[number], options: McpTestServerOptions, definition: object) {
  const server = await startEraServer(era, options);
  const client = createClient(server, definition);
  await client.ensureSession();
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

const start = (options: McpTestServerOptions = {}, definition: object = {}) =>
  startScene("legacy", options, definition);

/** The handshake method of each era. */
const HANDSHAKE_METHODS = { legacy: "initialize", modern: "server/discover" } as const;

describe.each(ERAS)("with retry.freshSession, a request to a %s server", (era) => {
  const countHandshakes = (server: McpTestServer) => server.received(HANDSHAKE_METHODS[era]).length;

  const startHere = (options: McpTestServerOptions = {}, definition: object = {}) =>
    startScene(era, options, definition);

  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 502 }],
    ["timeout", { type: "hang" }],
  ] as const)("is retried after %s", async (kind, fault) => {
    await using scene = await startHere({}, { timeouts: { requestMs: 1_000 } });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    server.addFault(fault, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("again"), IDEMPOTENT)).text()).toBe("again");
    expect(kinds).toEqual([kind]);
    expect(client.sessions()).toMatchObject([{ generation: 1, inFlight: 0 }]);
  });

  it("has the same retry limit as without it", async () => {
    await using scene = await startHere();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call" });
    const failure = await rejection(client.callTool(echo(), IDEMPOTENT));
    expect(failure).toMatchObject({ kind: "connection-lost", attempts: 3, outcomeUnknown: true });
  });

  it("is not retried unless it is idempotent", async () => {
    await using scene = await startHere();
    const { server, client } = scene;
    const before = countHandshakes(server);
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost", attempts: 1 });
    expect(countHandshakes(server)).toBe(before);
  });

  it("does not affect other calls", async () => {
    const { promise, resolve } = deferred();
    await using scene = await startHere({
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
    await using scene = await startHere({}, { retry: { ...FRESH_SESSION.retry, maxRetries: 8 } });
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
    await using scene = await startHere(
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
    const client = createClient(server);
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
    await using client = createClient(server);
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
    await using scene = await start({}, { timeouts: { requestMs: 1_000 } });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    const shared = client.sessionId;
    server.addFault(fault, { method: "tools/call", times: 1 });

    expect((await client.callTool(echo("again"), IDEMPOTENT)).text()).toBe("again");

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
    await using scene = await start();
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
    await using scene = await start();
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
    await using scene = await start();
    const { server, client } = scene;
    server.addFault({ type: "status", status: 429 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("is off by default", async () => {
    await using server = await startMcpTestServer();
    await using client = createClient(server, { retry: { maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 } });
    server.addFault(cut, { method: "tools/call", times: 1 });
    await client.callTool(echo(), IDEMPOTENT);
    expect(server.received("initialize")).toHaveLength(1);
    expect(new Set(callSessionIds(server)).size).toBe(1);
  });
});

describe("a fresh session that cannot be opened", () => {
  it("keeps the original failure when the server rejects a second session", async () => {
    await using scene = await start();
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
    await using scene = await start({}, { timeouts: { connectMs: 100 } });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const outcome = await client.tryCallTool(echo("x"), IDEMPOTENT);
    expect(outcome).toMatchObject({ ok: true, attempts: 2 });
    expect(new Set(callSessionIds(server))).toEqual(new Set([client.sessionId]));
    expect(server.openSessions).toEqual([client.sessionId]);
  });

  it("is abandoned at once when the call is aborted", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { ...IDEMPOTENT, signal: controller.signal }));
    await eventually(() => server.received("initialize").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
  });

  it("is terminated on the server when the call is aborted during the handshake", async () => {
    await using scene = await start();
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
    const client = createClient(server);
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const call = rejection(client.callTool(echo(), IDEMPOTENT));
    await eventually(() => server.received("initialize").length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSockets === 0);
  });
});

describe("the same session is used for the retry", () => {
  it("with a modern server, which has no sessions", async () => {
    await using server = await startEraServer("modern");
    await using client = createClient(server);
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
    await using scene = await start({ sessionMode: "stateless" });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("with a configured session id", async () => {
    await using scene = await start();
    const { server, client } = scene;
    const session = { id: client.sessionId, protocolVersion: "2025-06-18" };
    await using configured = createClient(server, { session });
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await configured.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("DELETE")).toHaveLength(0);
  });

  it("with an in-process server", async () => {
    const server = new McpTestServer({ tools: [{ name: "slow", run: () => new Promise(() => undefined) }] });
    await using client = new McpClient({
      name: "test",
      server,
      ...FRESH_SESSION,
      timeouts: { requestMs: 100 },
    });
    await client.ensureSession();
    expect(await rejection(client.callTool({ name: "slow" }, IDEMPOTENT))).toMatchObject({
      kind: "timeout",
      attempts: 3,
    });
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
