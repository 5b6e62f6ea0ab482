import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { EverythingServer } from "../../fixtures/everything-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { startRawSseServer } from "../../fixtures/raw-sse-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

const SSE = { type: "sse" } as const;

describe("an SSE server", () => {
  it("is called over one stream and the endpoint that it names", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(client.serverInfo?.name).toBe("mcp-test-server");
    expect(server.openSessions).toEqual([client.sessionId]);
    expect(server.received("GET").map(({ path }) => path)).toEqual(["/mcp"]);
    const posts = new Set(server.received("POST").map(({ path }) => path));
    expect([...posts]).toEqual([`/messages?sessionId=${client.sessionId}`]);
  });

  it("receives the configured headers with every request, and per-call headers only with that call", async () => {
    await using server = await SseServer.start();
    const headers = { authorization: "Bearer of-this-server", accept: "nothing", "mcp-session-id": "mine" };
    await using client = createTestClient(server, { ...SSE, headers });
    await client.callTool(echo(), { headers: { "x-call": "one" } });
    await client.callTool(echo());
    expect(new Set(server.requests.map((request) => request.headers.authorization))).toEqual(
      new Set(["Bearer of-this-server"]),
    );
    expect(server.requests.filter((request) => request.headers["x-call"] === "one")).toHaveLength(1);
    expect(server.received("GET")[0]?.headers.accept).toBe("text/event-stream");
    expect(server.requests.map((request) => request.headers["mcp-session-id"])).not.toContain("mine");
  });

  it("receives the credentials of the caller's identity with the stream and with every message", async () => {
    await using server = await SseServer.start({
      tools: [{ name: "who", run: (_, { headers }) => String(headers["authorization"]) }],
    });
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = createTestClient(server, {
      ...SSE,
      identity: userOf,
      auth: (context: CallContext) => `of-${userOf(context)}-${String(context.configurable["turn"])}`,
    });
    const callAs = async (user: string, turn: number) =>
      (await client.callTool({ name: "who" }, { context: { configurable: { user, turn } } })).text();
    const results = await Promise.all([callAs("alice", 1), callAs("bob", 1)]);
    expect([...results, await callAs("alice", 2)]).toEqual([
      "Bearer of-alice-1",
      "Bearer of-bob-1",
      "Bearer of-alice-2",
    ]);
    const streams = server.received("GET").map(({ headers }) => headers.authorization);
    expect(streams).toHaveLength(2);
    expect(new Set(streams)).toEqual(new Set(["Bearer of-alice-1", "Bearer of-bob-1"]));
  });

  it("can send notifications and requests on the same stream", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    let changes = 0;
    client.on("toolsChanged", () => (changes += 1));
    await client.ensureSession();
    await server.servers[0]?.sendToolListChanged();
    await eventually(() => changes === 1);
    expect(await server.servers[0]?.ping()).toEqual({});
    expect(server.received("GET")).toHaveLength(1);
  });

  it("reports progress and is notified of a cancelled call", async () => {
    let cancelled = 0;
    await using server = await SseServer.start({
      tools: [
        {
          name: "slow",
          run: async (_, { signal, progress }) => {
            signal.addEventListener("abort", () => (cancelled += 1));
            await progress(1, 2);
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            return "never returned";
          },
        },
      ],
    });
    await using client = createTestClient(server, SSE);
    const controller = new AbortController();
    const { promise: progressed, resolve } = deferred();
    const call = rejection(
      client.callTool({ name: "slow" }, { signal: controller.signal, onProgress: () => resolve() }),
    );
    await progressed;
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => cancelled === 1);
    expect(server.received("notifications/cancelled")).toHaveLength(1);
  });

  it("has a session that cannot be pinned", () => {
    expect(() => createTestClient("http://localhost/sse", { ...SSE, session: { id: "pinned" } })).toThrow(
      expect.objectContaining({
        kind: "invalid-config",
        issues: [expect.objectContaining({ path: "session.id" })],
      }),
    );
  });
});

describe("a stream that ends", () => {
  it("causes exactly one new handshake for 50 concurrent calls, after a restart and after a closed stream", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    for (const end of [() => server.restart(), () => server.endStreams()]) {
      await client.callTool(echo());
      const before = server.received("initialize").length;
      await end();
      await eventually(() => client.state !== "ready");
      expect(client.sessions()).toEqual([]);
      const results = await Promise.all(times(50, (n) => client.callTool(echo(`n${n}`))));
      expect(results.map((result) => result.text())).toEqual(times(50, (n) => `n${n}`));
      expect(server.received("initialize")).toHaveLength(before + 1);
    }
  });

  it("does not break a held tool", async () => {
    await using server = await SseServer.start();
    await using toolset = await createMcpTools({ old: { type: "sse", url: server.url } });
    const [tool] = toolset.tools;
    expect(await tool?.invoke({ text: "before" })).toBe("before");
    await server.restart();
    expect(await tool?.invoke({ text: "after" })).toBe("after");
  });

  it("fails every posted call at once with an unknown outcome, and none is retried", async () => {
    await using server = await SseServer.start({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    await using client = createTestClient(server, SSE);
    await client.ensureSession();
    const calls = times(20, () => rejection(client.callTool({ name: "slow" })));
    await eventually(() => server.executions.length === 20);
    await server.endStreams();
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(times(20, () => "connection-lost"));
    expect(await calls[0]).toMatchObject({ outcomeUnknown: true, attempts: 1, tool: "slow" });
    expect(server.executions).toHaveLength(20);
  });

  it("does not fail a call that was not posted yet: it uses the next stream", async () => {
    const { promise, resolve } = deferred();
    let firstStream: { end(): unknown } | undefined;
    await using server = await startRawSseServer(
      ({ id, response, stream, respond }) => {
        response.writeHead(202);
        if (id === undefined) return void response.end();
        if (firstStream !== undefined) {
          response.end();
          return respond("on the next stream");
        }
        // The only socket stays in use, so that the second call waits for it.
        response.write("…");
        firstStream = stream;
        resolve();
      },
      { acceptsPost: false },
    );
    await using client = createTestClient(server, { ...SSE, limits: { sockets: 1 } });
    await client.ensureSession();
    const first = rejection(client.callTool(echo()));
    await promise;
    const second = client.callTool(echo());
    firstStream?.end();
    expect(await first).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect((await second).text()).toBe("on the next stream");
  });
});

describe("a silently dropped stream", () => {
  /** Sends nothing while `isSilent` is set; counts the pings it receives. */
  async function startSilentServer() {
    const state = { isSilent: false, pings: 0 };
    const server = await startRawSseServer(({ id, method, respond }) => {
      if (method === "ping") state.pings += 1;
      if (id !== undefined && !state.isSilent) respond("ok");
    });
    return Object.assign(server, { state });
  }

  it("is detected by a ping after a call timed out, and the next call opens another stream", async () => {
    await using server = await startSilentServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, { ...SSE, timeouts: { requestMs: 1_000 } }, { clock });
    await client.callTool(echo());
    server.state.isSilent = true;
    const concurrent = rejection(client.callTool(echo(), { timeoutMs: 60_000 }));
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.requests.filter(({ method }) => method === "tools/call").length === 3);
    clock.advance(1_000);
    expect(await call).toMatchObject({ kind: "timeout" });
    await eventually(() => server.state.pings === 1);
    clock.advance(5_000);
    expect(await concurrent).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(client.state).not.toBe("ready");
    server.state.isSilent = false;
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("is not assumed when the server responds to the ping", async () => {
    await using server = await SseServer.start({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    const clock = new FakeClock();
    await using client = createTestClient(server, { ...SSE, timeouts: { requestMs: 1_000 } }, { clock });
    await client.ensureSession();
    const call = rejection(client.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    const timers = clock.pending;
    clock.advance(1_000);
    expect(await call).toMatchObject({ kind: "timeout" });
    await eventually(() => server.received("ping").length === 1);
    await eventually(() => clock.pending < timers);
    clock.advance(10_000);
    await client.ping();
    expect(server.received("GET")).toHaveLength(1);
  });
});

describe("a POST that fails", () => {
  it.each([
    { status: 404, body: "Could not find session" },
    { status: 400, body: "No transport found for sessionId" },
    { status: 400, body: "Invalid session ID" },
  ])("with $status, $body opens a new session and retries the call", async (forgottenAnswer) => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    await client.callTool(echo());
    server.unknownSessionResponse = forgottenAnswer;
    server.dropSessions();
    const results = await Promise.all(times(10, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(10, (n) => `n${n}`));
    expect(server.executions).toHaveLength(11);
    expect(server.received("initialize")).toHaveLength(2);
    await eventually(() => server.openSessions.length === 1);
  });

  it.each([
    [401, "unauthorized", false],
    [409, "invalid-request", false],
    [429, "rate-limited", false],
    [500, "server-error", true],
    [503, "unavailable", true],
  ])("with %i is kind %s and keeps the session", async (status, kind, outcomeUnknown) => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    await client.ensureSession();
    server.respondNext("tools/call", { status });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind, status, outcomeUnknown });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
    expect(server.received("GET")).toHaveLength(1);
  });

  it("because the connection is refused is kind not-sent and keeps the stream", async () => {
    await using server = await startRawSseServer();
    await using client = createTestClient(server, SSE);
    await client.ensureSession();
    await server.stopListening();
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
    });
    expect(client.state).toBe("ready");
  });

  it("after it was accepted does not matter: the response arrives on the stream", async () => {
    await using server = await startRawSseServer(
      ({ id, response, respond }) => {
        response.writeHead(202);
        if (id === undefined) return void response.end();
        response.write("…");
        setTimeout(() => response.socket?.destroy(), 20);
        response.once("close", () => respond("on the stream"));
      },
      { acceptsPost: false },
    );
    await using client = createTestClient(server, SSE);
    expect((await client.callTool(echo())).text()).toBe("on the stream");
  });

  it("on a broken connection has an unknown outcome", async () => {
    await using server = await startRawSseServer(({ response }) => void response.socket?.destroy(), {
      acceptsPost: false,
    });
    await using client = createTestClient(server, SSE);
    await client.ensureSession();
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
    expect(client.state).toBe("ready");
  });
});

describe("a handshake", () => {
  it("fails when its stream ends, and the next one works", async () => {
    let isBroken = true;
    const { promise, resolve } = deferred();
    await using server = await startRawSseServer(
      ({ id, method, stream, response, respond }) => {
        if (method === "notifications/initialized" && isBroken) {
          isBroken = false;
          // The stream ends before the client knows that its notification was accepted.
          stream.end();
          return void setTimeout(() => (response.writeHead(202).end(), resolve()), 50);
        }
        response.writeHead(202).end();
        if (id !== undefined) respond("ok");
      },
      { acceptsPost: false },
    );
    await using client = createTestClient(server, SSE);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: false,
    });
    await promise;
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("that reaches another server mentions proxies and load balancers", async () => {
    await using server = await SseServer.start();
    await using client = createTestClient(server, SSE);
    server.respondNext("initialize", { status: 404, body: "Session not found" });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 404 });
    expect(failure.message).toContain("load balancer");
  });
});

describe("a stream may contain", () => {
  it("any number of comments and empty events, regardless of the size limit", async () => {
    await using server = await startRawSseServer(({ id, stream, respond }) => {
      if (id === undefined) return;
      for (const _ of times(100, String))
        stream.write(`: ${"keep-alive".repeat(50)}\n\nevent: ping\ndata: 1\n\n`);
      respond("still here");
    });
    await using client = createTestClient(server, { ...SSE, limits: { responseBytes: 10_000 } });
    expect((await client.callTool(echo())).text()).toBe("still here");
    expect((await client.callTool(echo())).text()).toBe("still here");
  });

  it("ids as strings, and responses to unknown requests", async () => {
    await using server = await startRawSseServer(({ id, send }) => {
      if (id === undefined) return;
      const result = { content: [{ type: "text", text: "mine" }] };
      send({ jsonrpc: "2.0", id: 987_654, result });
      send([
        { jsonrpc: "2.0", id: "no such request", result },
        { jsonrpc: "2.0", id: String(id), result },
      ]);
    });
    await using client = createTestClient(server, SSE);
    expect((await client.callTool(echo())).text()).toBe("mine");
  });

  it.each([
    ["invalid JSON", '{"jsonrpc":', "not valid JSON"],
    ["JSON that is not JSON-RPC", '{"weather":"fine"}', "not JSON-RPC"],
    ["a result without an id", '{"jsonrpc":"2.0","result":{}}', "another request"],
  ])("%s: the only pending call fails at once", async (_, data, reason) => {
    await using server = await startRawSseServer(({ id, stream }) => {
      if (id !== undefined) stream.write(`data: ${data}\n\n`);
    });
    await using client = createTestClient(server, SSE);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(failure.message).toContain(reason);
  });

  it("invalid messages, which fail none of several pending calls", async () => {
    const waiting: ((text: string) => void)[] = [];
    await using server = await startRawSseServer(({ id, stream, respond: answer }) => {
      if (id === undefined || waiting.push(answer) < 2) return;
      stream.write('data: {"weather":\n\n');
      for (const respond of waiting) respond("mine");
    });
    await using client = createTestClient(server, SSE);
    const results = await Promise.all([client.callTool(echo()), client.callTool(echo())]);
    expect(results.map((result) => result.text())).toEqual(["mine", "mine"]);
  });

  it("an error without an id, which fails the only pending call", async () => {
    await using server = await startRawSseServer(({ id, send }) => {
      if (id !== undefined)
        send({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } });
    });
    await using client = createTestClient(server, SSE);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "invalid-request",
      code: -32_700,
    });
  });
});

describe("a response over the limit", () => {
  it("is too-large, the rest of its 200 MB is not read, and the next call works", async () => {
    let sent = 0;
    await using server = await startRawSseServer(({ id, stream, respond: answer }) => {
      if (id === undefined) return;
      if (sent > 0) return answer("small");
      const chunk = "x".repeat(100_000);
      stream.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"text":"`);
      const more = () => {
        while (sent < 200_000_000 && stream.writable) {
          sent += chunk.length;
          if (!stream.write(chunk)) return void stream.once("drain", more);
        }
      };
      more();
    });
    await using client = createTestClient(server, { ...SSE, limits: { responseBytes: 1_000_000 } });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toBe("small");
    // Includes the socket buffers of both sides.
    expect(sent).toBeLessThan(50_000_000);
  });

  it("fails concurrent calls, too: it is unknown whose response it was", async () => {
    let calls = 0;
    await using server = await startRawSseServer(({ id, stream }) => {
      if (id === undefined) return;
      calls += 1;
      if (calls === 2) stream.write(`data: ${"x".repeat(200_000)}`);
    });
    await using client = createTestClient(server, { ...SSE, limits: { responseBytes: 100_000 } });
    const failures = await Promise.all(times(2, () => rejection(client.callTool(echo()))));
    expect(failures.map(({ kind }) => kind)).toEqual(["too-large", "too-large"]);
    expect(failures[0]?.message).toContain("concurrent");
  });
});

describe("a server that does not support SSE", () => {
  it.each([
    ["401", 401, {}, "", { kind: "unauthorized", status: 401 }],
    ["404", 404, {}, "", { kind: "invalid-request", status: 404 }],
    ["405", 405, {}, "", { kind: "invalid-request", status: 405 }],
    ["500", 500, {}, "", { kind: "server-error", status: 500 }],
    ["an HTML page", 200, { "content-type": "text/html" }, "<p>Sign in</p>", { kind: "invalid-response" }],
    ["no content", 204, {}, "", { kind: "invalid-response" }],
    [
      "a compressed stream",
      200,
      { "content-type": "text/event-stream", "content-encoding": "gzip" },
      "",
      { kind: "invalid-response" },
    ],
    ["a stream that ends", 200, { "content-type": "text/event-stream" }, "", { kind: "connection-lost" }],
    [
      "messages before the endpoint",
      200,
      { "content-type": "text/event-stream" },
      "data: {}\n\n",
      { kind: "invalid-response" },
    ],
    [
      "an endpoint that is not a URL",
      200,
      { "content-type": "text/event-stream" },
      "event: endpoint\ndata: http://[nowhere\n\n",
      { kind: "invalid-response" },
    ],
    [
      "an endpoint of more than 16,384 characters",
      200,
      { "content-type": "text/event-stream" },
      `event: endpoint\ndata: /${"x".repeat(16_384)}\n\n`,
      { kind: "invalid-response" },
    ],
  ] as const)(
    "and returns %s fails with a clear error, and nothing is posted",
    async (_, status, headers, body, expected) => {
      await using server = await startRawServer(({ response }) => {
        response.writeHead(status, headers).end(body);
      });
      await using client = createTestClient(server, SSE);
      const failure = await rejection(client.callTool(echo()));
      expect(failure).toMatchObject({ ...expected, server: "test", outcomeUnknown: false });
      expect(server.requests.map(({ httpMethod }) => httpMethod)).toEqual(["GET"]);
      if (status === 405) expect(failure.message).toContain('type "http"');
    },
  );

  it("and never sends its endpoint is aborted after connectMs, and no socket stays open", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    });
    const clock = new FakeClock();
    const client = createTestClient(server, { ...SSE, timeouts: { connectMs: 3_000 } }, { clock });
    const call = rejection(client.callTool(echo()));
    await eventually(() => server.requests.length === 1);
    clock.advance(3_000);
    expect(await call).toMatchObject({ kind: "timeout" });
    await client.close();
    await eventually(() => server.sockets.size === 0);
  });

  it("because it is not running is kind not-sent", async () => {
    const server = await startRawServer();
    await server[Symbol.asyncDispose]();
    await using client = createTestClient(server, SSE);
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
  });

  it.each(["sse", "http"] as const)(
    "and names an endpoint on another origin is rejected, and nothing is sent there (%s)",
    async (type) => {
      await using other = await startRawServer();
      await using server = await startRawServer(({ httpMethod, response }) => {
        if (httpMethod === "POST") return void response.writeHead(405).end();
        const events = response.writeHead(200, { "content-type": "text/event-stream" });
        events.write(`event: endpoint\ndata: ${other.url}?sessionId=1\n\n`);
        return;
      });
      await using client = createTestClient(server, {
        ...SSE,
        type,
        headers: { authorization: "Bearer secret" },
      } as never);
      const failure = await rejection(client.callTool(echo()));
      expect(failure.kind).toBe(type === "sse" ? "invalid-response" : "invalid-request");
      expect(failure.message).toContain(new URL(other.url).origin);
      expect(other.socketsOpened).toBe(0);
    },
  );
});

describe("server-everything in sse mode", () => {
  it.each(["sse", "http"] as const)("can be called, listed, killed and called again (%s)", async (type) => {
    await using server = await EverythingServer.start("sse");
    await using client = new McpClient({ name: "everything", type, url: server.url });
    const echoCall = (message: string) => ({ name: "echo", args: { message } });
    expect((await client.callTool(echoCall("hi"))).text()).toBe("Echo: hi");
    expect((await client.listTools()).map(({ name }) => name)).toContain("get-sum");
    const operation = { name: "trigger-long-running-operation", args: { duration: 30, steps: 300 } };
    const { promise: isRunning, resolve } = deferred();
    const running = rejection(client.callTool(operation, { onProgress: resolve }));
    await isRunning;
    await server.kill();
    expect(await running).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    await server.start();
    const results = await Promise.all(times(20, (n) => client.callTool(echoCall(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `Echo: n${n}`));
  });
});
