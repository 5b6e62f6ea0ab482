import { describe, expect, it } from "vitest";
import {
  type CallContext,
  createMcpTools,
  McpClient,
  type McpClientOptions,
  type ServerDefinition,
} from "../../../src/index.js";
import { echo, eventually, failureOf, gate, ONCE, times } from "../../fixtures/clients.js";
import { EverythingServer } from "../../fixtures/everything-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { LegacySseServer } from "../../fixtures/sse-server.js";
import { startRawLegacyServer } from "../../fixtures/raw-sse-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

function clientOf(
  url: string,
  definition: Partial<Extract<ServerDefinition, { url: unknown }>> = {},
  options: McpClientOptions = {},
): McpClient {
  return new McpClient({ name: "old", type: "sse", ...ONCE, ...definition, url } as never, options);
}

describe("a legacy SSE server", () => {
  it("is called over one stream and the endpoint that it names", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo"]);
    expect(client.serverInfo?.name).toBe("mcp-test-server");
    expect(server.openSessions).toEqual([client.sessionId]);
    expect(server.received("GET").map(({ path }) => path)).toEqual(["/mcp"]);
    const posts = new Set(server.received("POST").map(({ path }) => path));
    expect([...posts]).toEqual([`/messages?sessionId=${client.sessionId}`]);
  });

  it("gets the configured headers with everything, and a call's own with that call only", async () => {
    await using server = await LegacySseServer.start();
    const headers = { authorization: "Bearer of-this-server", accept: "nothing", "mcp-session-id": "mine" };
    await using client = clientOf(server.url, { headers });
    await client.callTool(echo(), { headers: { "x-call": "one" } });
    await client.callTool(echo());
    expect(new Set(server.requests.map((request) => request.headers.authorization))).toEqual(
      new Set(["Bearer of-this-server"]),
    );
    expect(server.requests.filter((request) => request.headers["x-call"] === "one")).toHaveLength(1);
    expect(server.received("GET")[0]?.headers.accept).toBe("text/event-stream");
    expect(server.requests.map((request) => request.headers["mcp-session-id"])).not.toContain("mine");
  });

  it("gets the credentials of whoever asks with the stream and with every message", async () => {
    await using server = await LegacySseServer.start({
      tools: [{ name: "who", run: (_, { headers }) => String(headers["authorization"]) }],
    });
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = clientOf(server.url, {
      identity: userOf,
      auth: (context: CallContext) => `of-${userOf(context)}-${String(context.configurable["turn"])}`,
    });
    const ask = async (user: string, turn: number) =>
      (await client.callTool({ name: "who" }, { context: { configurable: { user, turn } } })).text();
    const answers = await Promise.all([ask("alice", 1), ask("bob", 1)]);
    expect([...answers, await ask("alice", 2)]).toEqual([
      "Bearer of-alice-1",
      "Bearer of-bob-1",
      "Bearer of-alice-2",
    ]);
    const streams = server.received("GET").map(({ headers }) => headers.authorization);
    expect(streams).toHaveLength(2);
    expect(new Set(streams)).toEqual(new Set(["Bearer of-alice-1", "Bearer of-bob-1"]));
  });

  it("is heard when it speaks unasked, without another stream, and is answered when it asks", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    let heard = 0;
    client.on("toolsChanged", () => (heard += 1));
    await client.ensureSession();
    await server.servers[0]?.sendToolListChanged();
    await eventually(() => heard === 1);
    expect(await server.servers[0]?.ping()).toEqual({});
    expect(server.received("GET")).toHaveLength(1);
  });

  it("tells its progress, and learns that a call was cancelled", async () => {
    let cancelled = 0;
    await using server = await LegacySseServer.start({
      tools: [
        {
          name: "slow",
          run: async (_, { signal, progress }) => {
            signal.addEventListener("abort", () => (cancelled += 1));
            await progress(1, 2);
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            return "never told";
          },
        },
      ],
    });
    await using client = clientOf(server.url);
    const controller = new AbortController();
    const { opened: progressed, open } = gate();
    const call = failureOf(
      client.callTool({ name: "slow" }, { signal: controller.signal, onProgress: () => open() }),
    );
    await progressed;
    controller.abort("enough");
    expect(await call).toBe("enough");
    await eventually(() => cancelled === 1);
    expect(server.received("notifications/cancelled")).toHaveLength(1);
  });

  it("has a session that cannot be pinned", () => {
    expect(() => clientOf("http://localhost/sse", { session: { id: "pinned" } })).toThrow(/session\.id/);
  });
});

describe("a stream that ends", () => {
  it("costs the next call one handshake, whoever ended it and however many calls there are", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
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

  it("leaves tools that are held working", async () => {
    await using server = await LegacySseServer.start();
    await using toolset = await createMcpTools({ old: { type: "sse", url: server.url } });
    const [tool] = toolset.tools;
    expect(await tool?.invoke({ text: "before" })).toBe("before");
    await server.restart();
    expect(await tool?.invoke({ text: "after" })).toBe("after");
  });

  it("fails every call that was posted at once, outcome unknown, and none is repeated", async () => {
    await using server = await LegacySseServer.start({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    await using client = clientOf(server.url);
    await client.ensureSession();
    const calls = times(20, () => failureOf(client.callTool({ name: "slow" })));
    await eventually(() => server.executions.length === 20);
    await server.endStreams();
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(times(20, () => "connection-lost"));
    expect(await calls[0]).toMatchObject({ outcomeUnknown: true, attempts: 1, tool: "slow" });
    expect(server.executions).toHaveLength(20);
  });

  it("lets a call that was not posted yet go over the next one", async () => {
    const { opened, open } = gate();
    let held: { end(): unknown } | undefined;
    await using server = await startRawLegacyServer(
      ({ id, response, stream, answer }) => {
        response.writeHead(202);
        if (id === undefined) return void response.end();
        if (held !== undefined) {
          response.end();
          return answer("over the next one");
        }
        // The only socket stays taken, so that the second call waits for it.
        response.write("…");
        held = stream;
        open();
      },
      { takesPost: false },
    );
    await using client = clientOf(server.url, { limits: { sockets: 1 } });
    await client.ensureSession();
    const first = failureOf(client.callTool(echo()));
    await opened;
    const second = client.callTool(echo());
    held?.end();
    expect(await first).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect((await second).text()).toBe("over the next one");
  });
});

describe("a stream that is dead without a word", () => {
  /** Streams that bring nothing any more once they are `deaf`, and pings that came. */
  async function startDeafServer() {
    const state = { isDeaf: false, pings: 0 };
    const server = await startRawLegacyServer(({ id, method, answer }) => {
      if (method === "ping") state.pings += 1;
      if (id !== undefined && !state.isDeaf) answer("ok");
    });
    return Object.assign(server, { state });
  }

  it("is found by a ping after a call timed out on it, and the next call opens another", async () => {
    await using server = await startDeafServer();
    const clock = new FakeClock();
    await using client = clientOf(server.url, { timeouts: { requestMs: 1_000 } }, { clock });
    await client.callTool(echo());
    server.state.isDeaf = true;
    const beside = failureOf(client.callTool(echo(), { timeoutMs: 60_000 }));
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.seen.filter(({ method }) => method === "tools/call").length === 3);
    clock.advance(1_000);
    expect(await call).toMatchObject({ kind: "timeout" });
    await eventually(() => server.state.pings === 1);
    clock.advance(5_000);
    expect(await beside).toMatchObject({ kind: "connection-lost", outcomeUnknown: true });
    expect(client.state).not.toBe("ready");
    server.state.isDeaf = false;
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("is not taken for one that answers the ping", async () => {
    await using server = await LegacySseServer.start({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    const clock = new FakeClock();
    await using client = clientOf(server.url, { timeouts: { requestMs: 1_000 } }, { clock });
    await client.ensureSession();
    const call = failureOf(client.callTool({ name: "slow" }));
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
  ])("with $status, $body: a new session, and the call once more", async (forgottenAnswer) => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.callTool(echo());
    server.forgottenAnswer = forgottenAnswer;
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
  ])("with %i is kind %s, and the session goes on", async (status, kind, outcomeUnknown) => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    await client.ensureSession();
    server.answerNext("tools/call", { status });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind, status, outcomeUnknown });
    expect((await client.callTool(echo("next"))).text()).toBe("next");
    expect(server.received("GET")).toHaveLength(1);
  });

  it("because nobody listens there was not sent, and the stream goes on", async () => {
    await using proper = await startRawLegacyServer();
    await using client = clientOf(proper.url);
    await client.ensureSession();
    await proper.stopListening();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
    });
    expect(client.state).toBe("ready");
  });

  it("after it was taken does not matter: the answer comes on the stream", async () => {
    await using server = await startRawLegacyServer(
      ({ id, response, answer }) => {
        response.writeHead(202);
        if (id === undefined) return void response.end();
        response.write("…");
        setTimeout(() => response.socket?.destroy(), 20);
        response.once("close", () => answer("all the same"));
      },
      { takesPost: false },
    );
    await using client = clientOf(server.url);
    expect((await client.callTool(echo())).text()).toBe("all the same");
  });

  it("on a connection that breaks leaves the outcome open", async () => {
    await using server = await startRawLegacyServer(({ response }) => void response.socket?.destroy(), {
      takesPost: false,
    });
    await using client = clientOf(server.url);
    await client.ensureSession();
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: true,
    });
    expect(client.state).toBe("ready");
  });
});

describe("a handshake", () => {
  it("whose stream ends in the middle of it fails, and the next one works", async () => {
    let isBroken = true;
    const { opened, open } = gate();
    await using server = await startRawLegacyServer(
      ({ id, method, stream, response, answer }) => {
        if (method === "notifications/initialized" && isBroken) {
          isBroken = false;
          // The stream is gone before the client has heard that its last word was taken.
          stream.end();
          return void setTimeout(() => (response.writeHead(202).end(), open()), 50);
        }
        response.writeHead(202).end();
        if (id !== undefined) answer("ok");
      },
      { takesPost: false },
    );
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "connection-lost",
      outcomeUnknown: false,
    });
    await opened;
    expect((await client.callTool(echo())).text()).toBe("ok");
  });

  it("that goes elsewhere than to the server says what may be in between", async () => {
    await using server = await LegacySseServer.start();
    await using client = clientOf(server.url);
    server.answerNext("initialize", { status: 404, body: "Session not found" });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 404 });
    expect(failure.message).toContain("load balancer");
  });
});

describe("what a stream may bring", () => {
  it("comments and empty events for as long as it likes, within any limit", async () => {
    await using server = await startRawLegacyServer(({ id, stream, answer }) => {
      if (id === undefined) return;
      for (const _ of times(100, String))
        stream.write(`: ${"keep-alive".repeat(50)}\n\nevent: ping\ndata: 1\n\n`);
      answer("still here");
    });
    await using client = clientOf(server.url, { limits: { responseBytes: 10_000 } });
    expect((await client.callTool(echo())).text()).toBe("still here");
    expect((await client.callTool(echo())).text()).toBe("still here");
  });

  it("an id as text, and answers that nobody waits for", async () => {
    await using server = await startRawLegacyServer(({ id, say }) => {
      if (id === undefined) return;
      const result = { content: [{ type: "text", text: "mine" }] };
      say({ jsonrpc: "2.0", id: 987_654, result });
      say([
        { jsonrpc: "2.0", id: "no such request", result },
        { jsonrpc: "2.0", id: String(id), result },
      ]);
    });
    await using client = clientOf(server.url);
    expect((await client.callTool(echo())).text()).toBe("mine");
  });

  it.each([
    ["broken JSON", '{"jsonrpc":', "broken JSON"],
    ["no JSON-RPC", '{"weather":"fine"}', "not JSON-RPC"],
    ["a result without an id", '{"jsonrpc":"2.0","result":{}}', "another request"],
  ])("%s: the only call that waits is failed at once", async (_, data, why) => {
    await using server = await startRawLegacyServer(({ id, stream }) => {
      if (id !== undefined) stream.write(`data: ${data}\n\n`);
    });
    await using client = clientOf(server.url);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-response", outcomeUnknown: true });
    expect(failure.message).toContain(why);
  });

  it("garbage while several calls wait: nobody's call is failed for it", async () => {
    const waiting: ((text: string) => void)[] = [];
    await using server = await startRawLegacyServer(({ id, stream, answer }) => {
      if (id === undefined || waiting.push(answer) < 2) return;
      stream.write('data: {"weather":\n\n');
      for (const tell of waiting) tell("mine");
    });
    await using client = clientOf(server.url);
    const results = await Promise.all([client.callTool(echo()), client.callTool(echo())]);
    expect(results.map((result) => result.text())).toEqual(["mine", "mine"]);
  });

  it("an error that names no request, as long as one waits", async () => {
    await using server = await startRawLegacyServer(({ id, say }) => {
      if (id !== undefined)
        say({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "unreadable" } });
    });
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "invalid-request",
      code: -32_700,
    });
  });
});

describe("an answer over the limit", () => {
  it("is too-large, the rest of its 200 MB is not read, and the next call works", async () => {
    let sent = 0;
    await using server = await startRawLegacyServer(({ id, stream, answer }) => {
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
    await using client = clientOf(server.url, { limits: { responseBytes: 1_000_000 } });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "too-large",
      outcomeUnknown: true,
    });
    expect((await client.callTool(echo())).text()).toBe("small");
    // What the sockets of two sides hold comes on top.
    expect(sent).toBeLessThan(50_000_000);
  });

  it("ends the calls beside it, too: nobody can tell whose it was", async () => {
    let calls = 0;
    await using server = await startRawLegacyServer(({ id, stream }) => {
      if (id === undefined) return;
      calls += 1;
      if (calls === 2) stream.write(`data: ${"x".repeat(200_000)}`);
    });
    await using client = clientOf(server.url, { limits: { responseBytes: 100_000 } });
    const failures = await Promise.all(times(2, () => failureOf(client.callTool(echo()))));
    expect(failures.map(({ kind }) => kind)).toEqual(["too-large", "too-large"]);
    expect(failures[0]?.message).toContain("for this request or for one beside it");
  });
});

describe("a server that is no legacy SSE server", () => {
  it.each([
    ["401", 401, {}, "", { kind: "unauthorized", status: 401 }],
    ["404", 404, {}, "", { kind: "invalid-request", status: 404 }],
    ["405", 405, {}, "", { kind: "invalid-request", status: 405 }],
    ["500", 500, {}, "", { kind: "server-error", status: 500 }],
    ["a page", 200, { "content-type": "text/html" }, "<p>Sign in</p>", { kind: "invalid-response" }],
    ["nothing", 204, {}, "", { kind: "invalid-response" }],
    [
      "a compressed stream",
      200,
      { "content-type": "text/event-stream", "content-encoding": "gzip" },
      "",
      { kind: "invalid-response" },
    ],
    ["a stream that ends", 200, { "content-type": "text/event-stream" }, "", { kind: "connection-lost" }],
    [
      "a stream of messages",
      200,
      { "content-type": "text/event-stream" },
      "data: {}\n\n",
      { kind: "invalid-response" },
    ],
    [
      "an endpoint that is no address",
      200,
      { "content-type": "text/event-stream" },
      "event: endpoint\ndata: http://[nowhere\n\n",
      { kind: "invalid-response" },
    ],
  ] as const)(
    "answers with %s: a clear failure, and nothing is posted",
    async (_, status, headers, body, expected) => {
      await using server = await startRawServer(({ response }) => {
        response.writeHead(status, headers).end(body);
      });
      await using client = clientOf(server.url);
      const failure = await failureOf(client.callTool(echo()));
      expect(failure).toMatchObject({ ...expected, server: "old", outcomeUnknown: false });
      expect(failure.message).not.toContain("may have run");
      expect(server.seen.map(({ httpMethod }) => httpMethod)).toEqual(["GET"]);
      if (status === 405) expect(failure.message).toContain('its type is "http"');
    },
  );

  it("never names its endpoint: connectMs ends it, and no socket stays", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    });
    const clock = new FakeClock();
    const client = clientOf(server.url, { timeouts: { connectMs: 3_000 } }, { clock });
    const call = failureOf(client.callTool(echo()));
    await eventually(() => server.seen.length === 1);
    clock.advance(3_000);
    expect(await call).toMatchObject({ kind: "timeout" });
    await client.close();
    await eventually(() => server.sockets.size === 0);
  });

  it("is not there", async () => {
    const server = await startRawServer();
    await server[Symbol.asyncDispose]();
    await using client = clientOf(server.url);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
  });

  it.each(["sse", "http"] as const)(
    "wants messages at another origin (%s): refused, and nothing goes there",
    async (type) => {
      await using other = await startRawServer();
      await using server = await startRawServer(({ httpMethod, response }) => {
        if (httpMethod === "POST") return void response.writeHead(405).end();
        const events = response.writeHead(200, { "content-type": "text/event-stream" });
        events.write(`event: endpoint\ndata: ${other.url}?sessionId=1\n\n`);
        return;
      });
      await using client = clientOf(server.url, {
        type,
        headers: { authorization: "Bearer secret" },
      } as never);
      const failure = await failureOf(client.callTool(echo()));
      expect(failure.kind).toBe(type === "sse" ? "invalid-response" : "invalid-request");
      expect(failure.message).toContain(new URL(other.url).origin);
      expect(failure.message).toContain("another origin");
      expect(other.socketsOpened).toBe(0);
    },
  );
});

describe("server-everything in sse mode", () => {
  it.each(["sse", "http"] as const)("is called, listed, killed and called again (%s)", async (type) => {
    await using server = await EverythingServer.start("sse");
    await using client = new McpClient({ name: "everything", type, url: server.url });
    const say = (message: string) => ({ name: "echo", args: { message } });
    expect((await client.callTool(say("hi"))).text()).toBe("Echo: hi");
    expect((await client.listTools()).map(({ name }) => name)).toContain("get-sum");
    const operation = { name: "trigger-long-running-operation", args: { duration: 30, steps: 300 } };
    const { opened: isRunning, open } = gate();
    const running = failureOf(client.callTool(operation, { onProgress: open }));
    await isRunning;
    await server.kill();
    expect(await running).toMatchObject({ kind: "connection-lost", outcomeUnknown: true, attempts: 1 });
    await server.start();
    const results = await Promise.all(times(20, (n) => client.callTool(say(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(20, (n) => `Echo: n${n}`));
  });
});
