import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMcpTools, McpClient, McpRuntimeError, onMcpEvent } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { ERAS, EraServer, startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { ProcessEvents } from "../../fixtures/process-events.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

describe("on", () => {
  it("rejects an unknown event name and a listener that is not a function", async () => {
    await using server = await startMcpTestServer();
    await using mcp = await createMcpTools({ test: { url: server.url } });
    const listeners = [
      onMcpEvent,
      mcp.on,
      mcp.servers.on.bind(mcp.servers),
      mcp.clients.test.on.bind(mcp.clients.test),
    ];
    for (const on of listeners as ((name: string, listener: unknown) => () => void)[]) {
      expect(() => on("toolChanged", () => undefined)).toThrow(
        expect.objectContaining({ kind: "invalid-config", message: expect.stringContaining("toolsChanged") }),
      );
      expect(() => on("warning", undefined)).toThrow(McpRuntimeError);
    }
  });
});

describe("process events", () => {
  it.each(ERAS)("cover the first call from start to end, including the handshake (%s)", async (era) => {
    await using server = await startEraServer(era);
    using events = new ProcessEvents();
    const client = createTestClient(server, {}, {});
    await client.callTool({ ...echo(), id: "caller" });
    await client.close();
    expect(events.names).toEqual([
      "requestStarted",
      "handshakeStarted",
      "handshakeEnded",
      "sessionOpened",
      "requestEnded",
      "sessionEnded",
    ]);
    const [started] = events.of("requestStarted");
    const [ended] = events.of("requestEnded");
    expect(started).toMatchObject({
      server: "test",
      method: "tools/call",
      tool: "echo",
      requestId: "caller",
    });
    expect(ended).toMatchObject({
      server: "test",
      method: "tools/call",
      tool: "echo",
      requestId: "caller",
      attempts: 1,
      kind: undefined,
      error: undefined,
      endpoint: { transport: "http", host: "127.0.0.1", port: Number(new URL(server.url).port) },
      protocolVersion: expect.stringMatching(/^20/),
      sessionId: era === "modern" ? undefined : expect.any(String),
    });
    expect(ended?.token).toBe(started?.token);
    const [handshake] = events.of("handshakeEnded");
    expect(handshake).toMatchObject({ server: "test", kind: undefined, sessionId: ended?.sessionId });
    expect(handshake?.token).toBe(events.of("handshakeStarted")[0]?.token);
    expect(events.of("sessionEnded")).toEqual([
      expect.objectContaining({ generation: 1, kind: undefined, sessionId: ended?.sessionId }),
    ]);
  });

  it("report a lost session with the token of the request that detected it", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.callTool(echo());
    using events = new ProcessEvents();
    server.dropSessions();
    await client.callTool(echo());
    expect(events.names).toEqual([
      "requestStarted",
      "sessionLost",
      "sessionEnded",
      "handshakeStarted",
      "handshakeEnded",
      "sessionOpened",
      "requestEnded",
    ]);
    expect(events.of("sessionLost")[0]?.token).toBe(events.of("requestStarted")[0]?.token);
    expect(events.of("sessionEnded")).toEqual([
      expect.objectContaining({ generation: 1, kind: "session-lost" }),
    ]);
    expect(events.of("requestEnded")).toEqual([expect.objectContaining({ attempts: 2, kind: undefined })]);
  });

  it("report retries, circuit breaker changes and the error", async () => {
    await using server = await startMcpTestServer();
    await using client = new McpClient(
      {
        name: "test",
        url: server.url,
        // Failures count at most once in 250 ms.
        retry: { maxRetries: 1, baseDelayMs: 600, maxDelayMs: 600 },
        circuitBreaker: { failureThreshold: 2 },
      },
      { random: () => 0.5 },
    );
    await client.ensureSession();
    using events = new ProcessEvents();
    server.addFault({ type: "status", status: 503 });
    const failure = await rejection(client.callTool(echo(), { idempotent: true }));
    expect(events.names).toEqual([
      "requestStarted",
      "requestRetried",
      "breakerChanged",
      "warning",
      "requestEnded",
    ]);
    expect(events.of("requestRetried")).toEqual([
      expect.objectContaining({ kind: "unavailable", attempts: 1, tool: "echo", waitMs: expect.any(Number) }),
    ]);
    expect(events.of("breakerChanged")).toEqual([{ server: "test", identity: "", state: "open" }]);
    const [ended] = events.of("requestEnded");
    expect(ended).toMatchObject({ kind: "unavailable", attempts: 2 });
    expect(ended?.error).toBe(failure);
  });

  it("report a failed handshake with an unreachable server", async () => {
    using events = new ProcessEvents();
    await using client = new McpClient({ name: "gone", url: "http://127.0.0.1:1/mcp", retry: false });
    await rejection(client.callTool(echo()));
    expect(events.of("handshakeEnded")).toEqual([
      expect.objectContaining({ kind: "not-sent", sessionId: undefined }),
    ]);
    expect(events.of("requestEnded")).toEqual([expect.objectContaining({ kind: "not-sent", attempts: 0 })]);
  });

  it("a tool that reports an error ends with kind tool-error", async () => {
    const tool = { name: "fail", run: () => Promise.reject(new Error("no")) };
    await using client = new McpClient({ name: "linked", server: new McpTestServer({ tools: [tool] }) });
    using events = new ProcessEvents();
    const result = await client.callTool({ name: "fail" });
    expect(result.isError).toBe(true);
    expect(events.of("requestEnded")).toEqual([
      expect.objectContaining({
        kind: "tool-error",
        error: undefined,
        endpoint: expect.objectContaining({ transport: "in-process" }),
      }),
    ]);
  });

  it.each(ERAS)("provide arguments and results on demand, but not when printed (%s)", async (era) => {
    await using client = new McpClient({ name: "linked", server: new EraServer(era) });
    using events = new ProcessEvents();
    await client.callTool(echo("a private text"), { loggableArgs: () => ({ text: "***" }) });
    await client.callTool(echo("a private text"));
    expect(inspect(events.all, { depth: 9 })).not.toContain("private");
    expect(JSON.stringify(events.all)).not.toContain("private");
    expect(events.of("requestStarted").map(({ args }) => args())).toEqual([
      { text: "***" },
      { text: "a private text" },
    ]);
    expect(events.of("requestEnded").map(({ result }) => result())).toEqual(
      times(2, () => ({ content: [{ type: "text", text: "a private text" }] })),
    );
  });

  it("report catalog reads, listings and changes of tools", async () => {
    const tool = (description: string) => ({ name: "forecast", description, run: () => "sun" });
    await using server = await startMcpTestServer({ tools: [tool("Old.")] });
    using events = new ProcessEvents();
    await using mcp = await createMcpTools(
      { weather: { url: server.url } },
      { pin: "warn", logger: new RecordingLogger() },
    );
    const received: unknown[] = [];
    mcp.on("driftChecked", (event) => received.push(event));
    await mcp.toolsFor({});
    server.tools = [tool("New.")];
    const drift = await mcp.detectDrift();
    expect(received).toEqual(events.of("driftChecked"));
    expect(events.of("catalogRead").map(({ result }) => result)).toEqual(["miss", "fresh"]);
    expect(events.of("toolsListed")).toEqual(
      times(2, () => ({ server: "weather", tools: 1, kind: undefined, latencyMs: expect.any(Number) })),
    );
    expect(events.of("pinMismatch")).toEqual([
      { server: "weather", tool: "forecast", change: "its description changed", isBlocked: false },
    ]);
    expect(events.of("driftChecked")).toEqual([{ ...drift.weather, server: "weather" }]);
    expect(events.of("serverChanged").map(({ state }) => state)).toEqual(["connecting", "connected"]);
    expect(events.of("toolsChanged")).toEqual(times(2, () => ({ server: "weather" })));
    expect(events.of("warning")).toEqual([]);
    await server.stop();
    await mcp.refresh().catch(() => undefined);
    expect(events.of("toolsListed").at(-1)).toMatchObject({ tools: undefined, kind: "not-sent" });
  });

  it("a listener can add to _meta without overriding the caller", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const unsubscribe = onMcpEvent("requestStarted", ({ addMeta }) => {
      addMeta("traceparent", "listener");
      addMeta("tenant", "listener");
    });
    onTestFinished(unsubscribe);
    await client.callTool(echo(), { meta: { tenant: "caller" } });
    unsubscribe();
    await client.callTool(echo());
    const meta = server.received("tools/call").map(({ body }) => (body as Call).params._meta);
    expect(meta[0]).toMatchObject({ traceparent: "listener", tenant: "caller" });
    expect(meta[1]).not.toHaveProperty("traceparent");
  });

  it("a listener can wrap a request and its handshake; an error in the wrapper does not fail the request", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    await using client = createTestClient(server, {}, { logger });
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const unsubscribers = [
      onMcpEvent("requestStarted", ({ wrap }) => wrap((run) => storage.run("outer", run))),
      onMcpEvent("requestStarted", ({ wrap }) => wrap(() => undefined)),
      onMcpEvent("requestStarted", ({ wrap }) =>
        wrap((run) => {
          run();
          run();
          throw new Error("listener error");
        }),
      ),
      onMcpEvent("handshakeStarted", () => seen.push(storage.getStore())),
      onMcpEvent("sessionOpened", () => seen.push(storage.getStore())),
      onMcpEvent("requestEnded", () => seen.push(storage.getStore())),
    ];
    onTestFinished(() => unsubscribers.forEach((unsubscribe) => unsubscribe()));
    await client.callTool(echo());
    expect(seen).toEqual(["outer", "outer", undefined]);
    expect(server.executions).toHaveLength(1);
    expect(logger.warnings).toEqual([expect.stringContaining("listener error")]);
  });

  it("an unknown event name is rejected", () => {
    expect(() => onMcpEvent("requestDone" as never, () => undefined)).toThrow(
      expect.objectContaining({ kind: "invalid-config", message: expect.stringContaining("requestEnded") }),
    );
  });
});

describe("metrics", () => {
  it("of a toolset are grouped by server and tool", async () => {
    await using weather = await startMcpTestServer({
      tools: [
        { name: "forecast", run: () => "sun" },
        { name: "fail", run: () => Promise.reject(new Error("no")) },
      ],
    });
    await using other = await startMcpTestServer();
    await using mcp = await createMcpTools({ weather: { url: weather.url }, other: { url: other.url } });
    await mcp.callTools([
      { name: "weather__forecast" },
      { name: "weather__forecast" },
      { name: "weather__fail" },
    ]);
    const { weather: used, other: idle } = mcp.metrics();
    expect(used).toMatchObject({
      calls: 3,
      successes: 2,
      failures: { "tool-error": 1 },
      retries: 0,
      handshakes: { successes: 1, failures: 0 },
      sessionsLost: 0,
      breakers: { closed: 1, open: 0, "half-open": 0 },
      tools: {
        forecast: { calls: 2, successes: 2, failures: {} },
        fail: { calls: 1, successes: 0, failures: { "tool-error": 1 } },
      },
    });
    const { p50, p95, p99, max } = used.latencyMs ?? { p50: 0, p95: 0, p99: 0, max: 0 };
    expect([0, p50, p95, p99, max]).toEqual([0, p50, p95, p99, max].toSorted((a, b) => a - b));
    expect(p50).toBeGreaterThan(0);
    expect(idle).toMatchObject({ calls: 0, latencyMs: undefined, methods: { "tools/list": { calls: 1 } } });
    expect(mcp.servers.metrics()["weather"]).toEqual(used);
    expect(mcp.totalMetrics()).toMatchObject({ calls: 3, successes: 2, handshakes: { successes: 2 } });
    expect(Object.isFrozen(used)).toBe(true);
  });

  it("in total sum up all servers, with the mean, the sum and quantiles of all latencies", async () => {
    const clock = new FakeClock();
    const takes = (ms: number) => async () => {
      clock.advance(ms);
      return "done";
    };
    const fail = () => Promise.reject(new Error("no"));
    const fast = new McpTestServer({ tools: [{ name: "run", run: takes(100) }] });
    const slow = new McpTestServer({
      tools: [
        { name: "run", run: takes(700) },
        { name: "fail", run: fail },
      ],
    });
    const servers = { fast: { server: fast }, slow: { server: slow } };
    await using manager = new McpServerManager(servers, { clock });
    expect(manager.totalMetrics()).toMatchObject({ calls: 0, successRate: undefined, latencyMs: undefined });
    await manager.connect();
    const call = (name: string, tool: string) => manager.clients.get(name)?.callTool({ name: tool });
    for (const name of ["fast", "fast", "slow"]) await call(name, "run");
    await call("slow", "fail");
    const { slow: ofSlow } = manager.metrics();
    expect(ofSlow).toMatchObject({ calls: 2, successRate: 0.5, latencyMs: { mean: 350, total: 700 } });
    const totals = manager.totalMetrics();
    expect(totals).toEqual({
      calls: 4,
      successes: 3,
      successRate: 0.75,
      failures: { "tool-error": 1 },
      retries: 0,
      handshakes: { successes: 2, failures: 0 },
      sessionsLost: 0,
      breakers: { closed: 2, open: 0, "half-open": 0 },
      latencyMs: expect.objectContaining({ mean: 225, total: 900, max: 700 }) as unknown,
    });
    expect(totals.latencyMs?.p50).toBeCloseTo(100, -1);
    expect(Object.isFrozen(totals)).toBe(true);
  });

  it("of a client count retries, lost sessions, handshakes and circuit breakers", async () => {
    await using server = await startMcpTestServer();
    await using client = new McpClient(
      {
        name: "test",
        url: server.url,
        // Failures count at most once in 250 ms.
        retry: { maxRetries: 1, baseDelayMs: 600, maxDelayMs: 600 },
        circuitBreaker: { failureThreshold: 2 },
      },
      { random: () => 0.5 },
    );
    await client.callTool(echo());
    server.dropSessions();
    await client.callTool(echo());
    server.addFault({ type: "status", status: 503 });
    await rejection(client.callTool(echo(), { idempotent: true }));
    await rejection(client.callTool(echo()));
    expect(client.metrics()).toMatchObject({
      calls: 4,
      successes: 2,
      failures: { unavailable: 1, "circuit-open": 1 },
      retries: 1,
      // The failures are those of probes in the background.
      handshakes: { successes: 2 },
      sessionsLost: 1,
      breakers: { closed: 0, open: 1, "half-open": 0 },
    });
  });

  it("count a lost session once, even if several calls detect it", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    await client.callTool(echo());
    server.dropSessions();
    await Promise.all(times(5, () => client.callTool(echo())));
    expect(client.metrics()).toMatchObject({ sessionsLost: 1, handshakes: { successes: 2 } });
  });

  it("use the client's clock", async () => {
    const clock = new FakeClock();
    const started = deferred();
    const released = deferred();
    const slow = async () => {
      started.resolve();
      await released.promise;
      return "done";
    };
    const server = new McpTestServer({ tools: [{ name: "slow", run: slow }] });
    await using client = new McpClient({ name: "linked", server }, { clock });
    const call = client.callTool({ name: "slow" });
    await started.promise;
    clock.advance(800);
    released.resolve();
    await call;
    expect(client.metrics().latencyMs).toEqual({
      p50: 800,
      p95: 800,
      p99: 800,
      max: 800,
      mean: 800,
      total: 800,
    });
  });
});

describe("the log", () => {
  it("has a debug line for every call, retry, handshake and session", async () => {
    await using server = await startMcpTestServer();
    const logger = Object.assign(new RecordingLogger(), { isDebugEnabled: () => true });
    const client = new McpClient(
      {
        name: "test",
        url: server.url,
        // Failures count at most once in 250 ms.
        retry: { maxRetries: 1, baseDelayMs: 600, maxDelayMs: 600 },
        circuitBreaker: { failureThreshold: 2 },
      },
      { logger, random: () => 0.5 },
    );
    await client.callTool(echo());
    server.addFault({ type: "status", status: 503 }, { method: "tools/call" });
    await rejection(client.callTool(echo(), { idempotent: true }));
    await client.close();
    expect(logger.messages.map((line) => line.replaceAll(/[\d.]+ ms/g, "N ms"))).toEqual([
      expect.stringMatching(/^Server "test": handshake ok after N ms, protocol 20/),
      'Server "test": tools/call echo ok after N ms',
      'Server "test": tools/call echo unavailable, attempt 1; retrying in N ms',
      'Server "test": the circuit breaker is open',
      'The circuit breaker of server "test" is open: calls are rejected until the server answers again.',
      'Server "test": tools/call echo unavailable after N ms, 2 attempts',
      'Server "test": session 1 ended after N ms',
    ]);
  });

  it("has no such lines without isDebugEnabled", async () => {
    const logger = new RecordingLogger();
    await using client = new McpClient({ name: "linked", server: new McpTestServer() }, { logger });
    await client.callTool(echo());
    expect(logger.messages).toEqual([]);
  });

  it("an error in isDebugEnabled does not affect calls", async () => {
    const isDebugEnabled = () => {
      throw new Error("listener error");
    };
    const logger = Object.assign(new RecordingLogger(), { isDebugEnabled });
    await using client = new McpClient({ name: "linked", server: new McpTestServer() }, { logger });
    expect((await client.callTool(echo())).text()).toBe("hello");
  });

  it("contains every warning event", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    await using client = createTestClient(server, { headers: { accept: "text/html" } }, { logger });
    using events = new ProcessEvents();
    await client.ensureSession();
    await eventually(() => logger.warnings.length > 0);
    expect(events.of("warning")).toEqual(logger.warnings.map((message) => ({ server: "test", message })));
  });
});

interface Call {
  readonly params: { readonly _meta?: Record<string, unknown> };
}
