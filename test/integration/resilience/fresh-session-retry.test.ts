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
import { echo, eventually, failureOf, gate, times } from "../../fixtures/clients.js";

const ISOLATED = {
  retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 5, freshSession: true },
  circuitBreaker: false,
} as const;
const IDEMPOTENT = { idempotent: true } as const;
const cut: Fault = { type: "disconnect", when: "before" };

function clientOf(server: McpTestServer, definition: object = {}, options: McpClientOptions = {}): McpClient {
  return new McpClient({ name: "test", url: server.url, ...ISOLATED, ...definition } as never, options);
}

const sessionOf = ({ headers }: ReceivedRequest) => headers["mcp-session-id"];
const sessionsOfCalls = (server: McpTestServer) => server.received("tools/call").map(sessionOf);

/** A server with a client that has a session and nothing else behind it. */
async function startIn(era: (typeof ERAS)[number], options: McpTestServerOptions, definition: object) {
  const server = await startEraServer(era, options);
  const client = clientOf(server, definition);
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
  startIn("legacy", options, definition);

/** What the greeting of a server is, in its era. */
const GREETINGS = { legacy: "initialize", modern: "server/discover" } as const;

describe.each(ERAS)("with isolated, a request to a %s server", (era) => {
  const greetings = (server: McpTestServer) => server.received(GREETINGS[era]).length;

  const startHere = (options: McpTestServerOptions = {}, definition: object = {}) =>
    startIn(era, options, definition);

  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 502 }],
    ["timeout", { type: "hang" }],
  ] as const)("is repeated after %s", async (kind, fault) => {
    await using scene = await startHere({}, { timeouts: { requestMs: 1_000 } });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    server.addFault(fault, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("again"), IDEMPOTENT)).text()).toBe("again");
    expect(kinds).toEqual([kind]);
    expect(client.sessions()).toMatchObject([{ generation: 1, inFlight: 0 }]);
  });

  it("has the budget that it has without", async () => {
    await using scene = await startHere();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call" });
    const failure = await failureOf(client.callTool(echo(), IDEMPOTENT));
    expect(failure).toMatchObject({ kind: "connection-lost", attempts: 3, outcomeUnknown: true });
  });

  it("is not repeated unless it is idempotent", async () => {
    await using scene = await startHere();
    const { server, client } = scene;
    const before = greetings(server);
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "connection-lost", attempts: 1 });
    expect(greetings(server)).toBe(before);
  });

  it("disturbs no other", async () => {
    const { opened, open } = gate();
    await using scene = await startHere({
      tools: [
        { name: "slow", run: async () => (await opened, "slow") },
        { name: "echo", run: ({ text }) => String(text) },
      ],
    });
    const { server, client } = scene;
    const slow = client.callTool({ name: "slow" });
    await eventually(() => server.executions.length === 1);
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", tool: "echo", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    open();
    expect((await slow).text()).toBe("slow");
  });

  it("gets its own answer, however many fail together", async () => {
    // As many as there are faults: a repetition may come before others' first attempts, and meet theirs.
    await using scene = await startHere({}, { retry: { ...ISOLATED.retry, maxRetries: 8 } });
    const { server, client } = scene;
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 8 });
    const results = await Promise.all(times(8, (n) => client.callTool(echo(`n${n}`), IDEMPOTENT)));
    expect(results.map((result) => result.text())).toEqual(times(8, (n) => `n${n}`));
  });

  it("takes its turn where requests go one at a time", async () => {
    let [running, most] = [0, 0];
    const run = async () => {
      most = Math.max(most, (running += 1));
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
    expect(most).toBe(1);
  });

  it("ends with the client, also while it is repeated", async () => {
    const { opened, open } = gate();
    await using server = await startEraServer(era, {
      tools: [{ name: "slow", run: async () => (await opened, "slow") }],
    });
    const client = clientOf(server);
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    const call = failureOf(client.callTool({ name: "slow" }, IDEMPOTENT));
    await eventually(() => server.executions.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
    expect(server.openSessions).toEqual([]);
    await eventually(() => server.openSockets === 0);
    open();
  });
});

describe("a server that is replaced by one of another revision before the repetition", () => {
  it.each([
    ["legacy", "modern"],
    ["modern", "legacy"],
  ] as const)("answers it all the same: %s, then %s", async (before, after) => {
    await using server = await startEraServer(before);
    await using client = clientOf(server);
    await client.ensureSession();
    client.on("requestRetried", () => {
      server.era = after;
    });
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect((await client.callTool(echo("y"))).text()).toBe("y");
  });
});

describe("a repetition on a session of its own", () => {
  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 502 }],
    ["server-error", { type: "status", status: 500 }],
    ["timeout", { type: "hang" }],
  ] as const)("follows %s, and the session ends with it", async (kind, fault) => {
    await using scene = await start({}, { timeouts: { requestMs: 1_000 } });
    const { server, client } = scene;
    const kinds: string[] = [];
    client.on("requestRetried", (event) => kinds.push(event.kind));
    const shared = client.sessionId;
    server.addFault(fault, { method: "tools/call", times: 1 });

    expect((await client.callTool(echo("again"), IDEMPOTENT)).text()).toBe("again");

    expect(kinds).toEqual([kind]);
    const [first, second] = sessionsOfCalls(server);
    expect(first).toBe(shared);
    expect(second).not.toBe(shared);
    await eventually(() => server.openSessions.length === 1);
    expect(server.received("DELETE").map(sessionOf)).toEqual([second]);
    expect(server.openSessions).toEqual([shared]);
    expect(client.sessionId).toBe(shared);
    expect(client.sessions()).toMatchObject([{ id: shared, generation: 1, inFlight: 0 }]);
    await client.callTool(echo());
    expect(sessionsOfCalls(server).at(-1)).toBe(shared);
  });

  it("is a fresh one each time, within the budget of the call", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call" });
    expect(await failureOf(client.callTool(echo(), IDEMPOTENT))).toMatchObject({
      kind: "connection-lost",
      attempts: 3,
      outcomeUnknown: true,
    });
    expect(new Set(sessionsOfCalls(server)).size).toBe(3);
    await eventually(() => server.openSessions.length === 1);
  });

  it("is each caller's own, however many fail together", async () => {
    await using scene = await start();
    const { server, client } = scene;
    const shared = client.sessionId;
    server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 8 });
    const results = await Promise.all(times(8, (n) => client.callTool(echo(`n${n}`), IDEMPOTENT)));
    expect(results.map((result) => result.text())).toEqual(times(8, (n) => `n${n}`));
    expect(new Set(sessionsOfCalls(server)).size).toBe(9);
    await eventually(() => server.openSessions.length === 1);
    expect(client.sessionId).toBe(shared);
  });

  it("does not follow what is not the session's fault", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault({ type: "status", status: 429 }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("is off unless it is asked for", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { retry: { maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 } });
    server.addFault(cut, { method: "tools/call", times: 1 });
    await client.callTool(echo(), IDEMPOTENT);
    expect(server.received("initialize")).toHaveLength(1);
    expect(new Set(sessionsOfCalls(server)).size).toBe(1);
  });
});

describe("a session of its own that cannot be had", () => {
  it("leaves the call the failure that it had, when the server refuses a second session", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "status", status: 400 }, { method: "initialize" });
    expect(await failureOf(client.callTool(echo(), IDEMPOTENT))).toMatchObject({
      kind: "connection-lost",
      attempts: 1,
      outcomeUnknown: true,
    });
    expect(server.openSessions).toEqual([client.sessionId]);
  });

  it("is tried for no longer than a handshake may take; then it is the shared one's turn again", async () => {
    await using scene = await start({}, { timeouts: { connectMs: 100 } });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const outcome = await client.tryCallTool(echo("x"), IDEMPOTENT);
    expect(outcome).toMatchObject({ ok: true, attempts: 2 });
    expect(new Set(sessionsOfCalls(server))).toEqual(new Set([client.sessionId]));
    expect(server.openSessions).toEqual([client.sessionId]);
  });

  it("is given up at once when the caller goes away", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const controller = new AbortController();
    const call = failureOf(client.callTool(echo(), { ...IDEMPOTENT, signal: controller.signal }));
    await eventually(() => server.received("initialize").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
  });

  it("is ended on the server when the caller goes away while the greeting is on its way", async () => {
    await using scene = await start();
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "delay", ms: 100 }, { method: "initialize" });
    const controller = new AbortController();
    const call = failureOf(client.callTool(echo(), { ...IDEMPOTENT, signal: controller.signal }));
    await eventually(() => server.received("initialize").length === 2);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => server.received("DELETE").length === 1);
    expect(server.openSessions).toEqual([client.sessionId]);
  });
});

describe("close()", () => {
  it("ends a handshake for one under way", async () => {
    await using server = await startMcpTestServer();
    const client = clientOf(server);
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const call = failureOf(client.callTool(echo(), IDEMPOTENT));
    await eventually(() => server.received("initialize").length === 2);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => server.openSockets === 0);
  });
});

describe("where there is nothing to get away from, the session stays the same", () => {
  it("with a server of the revision without sessions", async () => {
    await using server = await startEraServer("modern");
    await using client = clientOf(server);
    await client.ensureSession();
    const greeted = server.requests.length;
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.requests.slice(greeted).map(({ method }) => method)).toEqual(["tools/call", "tools/call"]);
  });

  it("with a server without sessions", async () => {
    await using scene = await start({ sessionMode: "stateless" });
    const { server, client } = scene;
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
  });

  it("with a session that somebody pinned", async () => {
    await using scene = await start();
    const { server, client } = scene;
    const session = { id: client.sessionId, protocolVersion: "2025-06-18" };
    await using other = clientOf(server, { session });
    server.addFault(cut, { method: "tools/call", times: 1 });
    expect((await other.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(1);
    expect(server.received("DELETE")).toHaveLength(0);
  });

  it("with a server in this process", async () => {
    const server = new McpTestServer({ tools: [{ name: "slow", run: () => new Promise(() => undefined) }] });
    await using client = new McpClient({
      name: "test",
      server,
      ...ISOLATED,
      timeouts: { requestMs: 100 },
    });
    await client.ensureSession();
    expect(await failureOf(client.callTool({ name: "slow" }, IDEMPOTENT))).toMatchObject({
      kind: "timeout",
      attempts: 3,
    });
    expect(new Set(server.executions.map(({ sessionId }) => sessionId)).size).toBe(1);
  });
});

it("a transport of the user's own is opened again, if its server has sessions", async () => {
  await using server = await startMcpTestServer();
  await using client = new McpClient({
    name: "test",
    openTransport: () => new StreamableHTTPClientTransport(new URL(server.url)),
    ...ISOLATED,
  });
  await client.ensureSession();
  server.addFault({ type: "status", status: 502 }, { method: "tools/call", times: 1 });
  expect((await client.callTool(echo("x"), IDEMPOTENT)).text()).toBe("x");
  expect(new Set(sessionsOfCalls(server)).size).toBe(2);
  await eventually(() => server.openSessions.length === 1);
  expect(server.openSessions).toEqual([client.sessionId]);
});
