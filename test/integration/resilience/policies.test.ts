import { describe, expect, it } from "vitest";
import { createMcpTools, type FallbackCall, lastGoodResult, McpRuntimeError } from "../../../src/index.js";
import { type Fault, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import {
  createTestClient,
  echo,
  eventually,
  rejection,
  deferred,
  QUICK_RETRY,
  times,
} from "../../fixtures/clients.js";
import { BOOKING, createElicitingServer } from "../../fixtures/eliciting-server.js";
import { ERAS, type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { startSdkServer } from "../../fixtures/sdk-server.js";

const cut: Fault = { type: "disconnect", when: "during" };

describe.each(ERAS)("a call that may have run (%s)", (era) => {
  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 503 }],
    ["server-error", { type: "status", status: 500 }],
  ] as const)("is not retried after %s", async (kind, fault) => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server, QUICK_RETRY);
    await client.ensureSession();
    server.addFault(fault, { method: "tools/call" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind,
      attempts: 1,
      outcomeUnknown: true,
    });
    expect(server.received("tools/call")).toHaveLength(1);
  });

  it.each([
    ["connection-lost", cut],
    ["unavailable", { type: "status", status: 503 }],
    ["server-error", { type: "status", status: 500 }],
  ] as const)("is retried after %s if it is idempotent", async (kind, fault) => {
    await using server = await startEraServer(era);
    await using client = createTestClient(server, QUICK_RETRY);
    await client.ensureSession();
    const retries: unknown[] = [];
    client.on("requestRetried", (event) => retries.push(event.kind));
    server.addFault(fault, { method: "tools/call", times: 2 });
    const outcome = await client.tryCallTool(echo("third"), { idempotent: true });
    expect(outcome).toMatchObject({ ok: true, attempts: 3 });
    expect(retries).toEqual([kind, kind]);
    server.addFault(fault, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({
      kind,
      attempts: 3,
    });
  });

  it("is retried after timeout if it is idempotent", async () => {
    await using server = await startEraServer(era);
    const clock = new FakeClock();
    const definition = { ...QUICK_RETRY, timeouts: { requestMs: 300 } };
    await using client = createTestClient(server, definition, { clock });
    await client.ensureSession();
    const retries: unknown[] = [];
    client.on("requestRetried", (event) => retries.push(event.kind));
    let received = 0;
    /** Lets the next attempts expire, each when the server has received it. */
    const expire = async (attempts: number) => {
      for (let n = 0; n < attempts; n += 1) {
        received += 1;
        await clock.advanceUntilSettled(
          eventually(() => server.received("tools/call").length === received),
          1,
        );
        clock.advance(300);
      }
    };
    server.addFault({ type: "hang" }, { method: "tools/call", times: 2 });
    const call = client.tryCallTool(echo("third"), { idempotent: true });
    await expire(2);
    expect(await clock.advanceUntilSettled(call, 1)).toMatchObject({ ok: true, attempts: 3 });
    expect(retries).toEqual(["timeout", "timeout"]);
    received += 1;
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const failing = rejection(client.callTool(echo(), { idempotent: true }));
    await expire(3);
    expect(await failing).toMatchObject({ kind: "timeout", attempts: 3 });
  });
});

describe("a call that provably did not run", () => {
  it("is retried after a refused connection", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const retry = { maxRetries: 1, baseDelayMs: 150, maxDelayMs: 150 };
    await using client = createTestClient(server, { retry }, { clock });
    await server.stop();
    const call = client.callTool(echo("up again"));
    await new Promise((resolve) => client.on("requestRetried", resolve));
    await server.start();
    expect((await clock.advanceUntilSettled(call, 150)).text()).toBe("up again");
    expect(server.executions).toHaveLength(1);
  });

  it("is retried after a failed handshake, within the same retry limit", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, QUICK_RETRY);
    server.addFault({ type: "status", status: 500 }, { method: "initialize", times: 2 });
    expect((await client.callTool(echo("x"))).text()).toBe("x");
    expect(server.received("initialize")).toHaveLength(3);
    await client.close();
    server.addFault({ type: "status", status: 500 }, { method: "initialize" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error", attempts: 0 });
    expect(server.received("initialize")).toHaveLength(6);
  });

  it("is retried after a timeout in the queue for a connection, if it is idempotent", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({ tools: [{ name: "slow", run: () => promise }] });
    await using client = createTestClient(server, {
      ...QUICK_RETRY,
      limits: { sockets: 1 },
      timeouts: { connectMs: 100, requestMs: 200 },
    });
    await client.ensureSession();
    client.on("requestRetried", () => resolve());
    const slow = client.callTool({ name: "slow" }, { timeoutMs: 10_000 });
    await server.waitFor("tools/call");
    expect(await client.listTools()).toHaveLength(1);
    await slow;
  });

  it("is not retried after a handshake timeout", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    const client = createTestClient(server, { ...QUICK_RETRY, timeouts: { connectMs: 50 } }, { clock });
    server.addFault({ type: "hang" }, { method: "initialize" });
    const call = rejection(client.callTool(echo()));
    await server.waitFor("initialize");
    clock.advance(50);
    expect(await call).toMatchObject({ kind: "timeout", attempts: 0 });
    expect(server.received("initialize")).toHaveLength(1);
    await clock.advanceUntilSettled(client.close(), 1_000);
  });

  it("is retried after a 429, after the Retry-After time", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, QUICK_RETRY, { clock });
    await client.ensureSession();
    const waits: number[] = [];
    client.on("requestRetried", ({ waitMs }) => waits.push(waitMs));
    server.addFault(
      { type: "status", status: 429, headers: { "retry-after": "30" } },
      { method: "tools/call", times: 1 },
    );
    const call = client.callTool(echo("later"));
    expect((await clock.advanceUntilSettled(call, 30_000)).text()).toBe("later");
    expect(waits).toEqual([expect.toSatisfy((ms: number) => ms > 15_000 && ms <= 30_000)]);
    expect(clock.now()).toBe(waits[0]);
  });

  it("fails at once if the Retry-After time exceeds its deadline", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { ...QUICK_RETRY, timeouts: { totalMs: 5_000 } });
    await client.ensureSession();
    server.addFault(
      { type: "status", status: 429, headers: { "retry-after": "60" } },
      { method: "tools/call" },
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "rate-limited",
      retryAt: expect.any(Date),
      attempts: 1,
    });
  });

  it("stops waiting for the retry when it is aborted", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, {
      retry: { maxRetries: 2, baseDelayMs: 60_000, maxDelayMs: 60_000 },
    });
    await client.ensureSession();
    server.addFault({ type: "status", status: 429 }, { method: "tools/call" });
    const controller = new AbortController();
    const call = rejection(client.callTool(echo(), { signal: controller.signal }));
    await new Promise((resolve) => client.on("requestRetried", resolve));
    controller.abort("enough");
    expect(await call).toBe("enough");
  });
});

describe("an invalid request", () => {
  it("is not retried", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, QUICK_RETRY);
    await client.ensureSession();
    server.addFault({ type: "status", status: 400 }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({
      kind: "invalid-request",
      attempts: 1,
    });
  });
});

describe("the retry budget", () => {
  it("limits retries to a tenth of the calls plus the initial ten", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, QUICK_RETRY);
    await client.ensureSession();
    server.addFault({ type: "status", status: 429 }, { method: "tools/call" });
    for (let n = 0; n < 40; n += 1) await rejection(client.callTool(echo()));
    expect(server.received("tools/call").length).toBeGreaterThan(40);
    expect(server.received("tools/call").length).toBeLessThanOrEqual(40 + 10 + 4);
  });
});

describe("the circuit breaker", () => {
  const breaker = { failureThreshold: 3, recoveryTimeoutMs: 100, halfOpenMaxCalls: 1, successThreshold: 2 };

  it("opens after failures, probes the server and closes again", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, { circuitBreaker: breaker }, { clock });
    const states: string[] = [];
    client.on("breakerChanged", ({ state }) => states.push(state));
    await client.ensureSession();
    const startedAt = Date.now();
    expect(client.breaker?.stats()).toMatchObject({ successes: 0, changedAt: undefined });
    const clearFault = server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    for (let n = 0; n < 3; n += 1) {
      clock.advance(100);
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "server-error" });
    }
    const seen = server.received("tools/call").length;
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "circuit-open",
      attempts: 0,
      retryAt: expect.any(Date),
    });
    expect(server.received("tools/call")).toHaveLength(seen);
    clearFault();
    clock.advance(99);
    expect(client.breaker?.stats().recoversInMs).toBe(1);
    clock.advance(1);
    expect(client.breaker?.stats().recoversInMs).toBe(0);
    const changedAt = client.breaker?.stats().changedAt;
    expect(changedAt).toBeGreaterThanOrEqual(startedAt);
    expect((await client.callTool(echo("probe"))).text()).toBe("probe");
    expect(client.breaker?.stats()).toEqual({
      state: "half-open",
      failures: 0,
      successes: 1,
      blocked: 1,
      recoversInMs: 0,
      failureThreshold: 3,
      successThreshold: 2,
      changedAt: expect.any(Number),
    });
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(states).toEqual(["open", "half-open", "closed"]);
  });

  it("lets one trial call through at a time, and frees its slot when it is aborted", async () => {
    await using server = await startMcpTestServer();
    const clock = new FakeClock();
    await using client = createTestClient(server, { circuitBreaker: breaker }, { clock });
    await client.ensureSession();
    client.breaker?.forceOpen();
    clock.advance(100);
    const clearFault = server.addFault({ type: "hang" }, { method: "tools/call" });
    const controller = new AbortController();
    const probe = rejection(client.callTool(echo(), { signal: controller.signal }));
    await server.waitFor("tools/call");
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "circuit-open" });
    controller.abort("enough");
    expect(await probe).toBe("enough");
    clearFault();
    expect((await client.callTool(echo("x"))).text()).toBe("x");
  });

  it("does not count tool errors and rejected credentials", async () => {
    const broken: TestTool = { name: "echo", run: () => Promise.reject(new Error("no")) };
    await using server = await startMcpTestServer({ tools: [broken] });
    await using client = createTestClient(server, { circuitBreaker: breaker });
    for (let n = 0; n < 5; n += 1) expect((await client.callTool(echo())).isError).toBe(true);
    server.addFault({ type: "status", status: 401 }, { method: "tools/call" });
    for (let n = 0; n < 5; n += 1)
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized" });
    expect(client.breaker?.stats()).toMatchObject({ state: "closed", failures: 0 });
  });

  it("stays closed when a server restarts during many calls", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      tools: [
        { name: "slow", run: async () => (await promise, "slow") },
        { name: "echo", run: () => "fine" },
      ],
    });
    await using client = createTestClient(server, { circuitBreaker: breaker });
    await client.ensureSession();
    const running = times(20, () => rejection(client.callTool({ name: "slow" })));
    await eventually(() => server.executions.length === 20);
    await server.restart();
    expect((await Promise.all(running)).map(({ kind }) => kind)).toEqual(times(20, () => "connection-lost"));
    expect((await client.callTool(echo())).text()).toBe("fine");
    resolve();
  });

  it("that opens during a call keeps the original failure of the call", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, {
      retry: { maxRetries: 5, baseDelayMs: 1, maxDelayMs: 1 },
      circuitBreaker: { ...breaker, failureThreshold: 1, recoveryTimeoutMs: 60_000 },
    });
    await client.ensureSession();
    server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({
      kind: "server-error",
      attempts: 1,
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "circuit-open" });
  });

  it("of one server does not affect another", async () => {
    await using bad = await startMcpTestServer();
    await using good = await startMcpTestServer();
    await using mcp = await createMcpTools({
      bad: { url: bad.url, retry: false, circuitBreaker: { failureThreshold: 1 } },
      good: { url: good.url },
    });
    bad.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    await rejection(mcp.callTool({ name: "bad__echo" }));
    expect(await rejection(mcp.callTool({ name: "bad__echo" }))).toMatchObject({ kind: "circuit-open" });
    expect((await mcp.callTool({ name: "good__echo", args: { text: "x" } })).text()).toBe("x");
  });
});

describe("retries of a tool", () => {
  it.each([
    ["a rule", { tools: { get: { idempotent: true } } }, 2],
    ["a trusted annotation", { trustAnnotations: true }, 2],
    ["not by an untrusted annotation", {}, 1],
    [
      "a rule rather than a trusted annotation",
      { trustAnnotations: true, tools: { get: { idempotent: false } } },
      1,
    ],
  ])("idempotency is decided by: %s", async (_, definition, sent) => {
    await using server = await startMcpTestServer({
      tools: [{ name: "get", annotations: { readOnlyHint: true }, run: () => "x" }],
    });
    await using mcp = await createMcpTools({ srv: { url: server.url, ...QUICK_RETRY, ...definition } });
    server.addFault(cut, { method: "tools/call", times: 1 });
    await mcp.tryCallTool({ name: "get" });
    expect(server.received("tools/call")).toHaveLength(sent);
  });
});

describe("limits.concurrentCalls", () => {
  const createBlockingTool = () => {
    const seen = { running: 0, maxRunning: 0 };
    const { promise, resolve } = deferred();
    const tool: TestTool = {
      name: "echo",
      run: async () => {
        seen.running += 1;
        seen.maxRunning = Math.max(seen.maxRunning, seen.running);
        await promise;
        seen.running -= 1;
        return "ok";
      },
    };
    return { tool, seen, open: resolve };
  };

  it("limits concurrent calls; waiting calls honor their signal and deadline", async () => {
    const { tool, seen, open } = createBlockingTool();
    await using server = await startMcpTestServer({ tools: [tool] });
    await using client = createTestClient(server, { limits: { concurrentCalls: 2 } });
    await client.ensureSession();
    const first = times(2, () => client.callTool(echo()));
    await eventually(() => seen.running === 2);
    const controller = new AbortController();
    const cancelled = rejection(client.callTool(echo(), { signal: controller.signal }));
    const late = rejection(client.callTool(echo(), { signal: AbortSignal.timeout(50) }));
    controller.abort("enough");
    expect(await cancelled).toBe("enough");
    expect(await late).toMatchObject({ kind: "timeout", outcomeUnknown: false, attempts: 0 });
    open();
    await Promise.all(first);
    expect(seen.maxRunning).toBe(2);
  });

  it("is shared by calls before and after the connection is open", async () => {
    const { tool, seen, open } = createBlockingTool();
    await using server = await startMcpTestServer({ tools: [tool] });
    await using client = createTestClient(server, { limits: { concurrentCalls: 2 } });
    const early = times(2, () => client.callTool(echo()));
    await eventually(() => seen.running === 2);
    const late = rejection(client.callTool(echo(), { signal: AbortSignal.timeout(50) }));
    expect(await late).toMatchObject({ kind: "timeout", attempts: 0 });
    open();
    await Promise.all(early);
    expect(seen.maxRunning).toBe(2);
  });
});

describe("a fallback", () => {
  const down: Fault = { type: "status", status: 503 };

  it("provides the result only when the call failed", async () => {
    await using server = await startMcpTestServer();
    const fallback = ({ kind }: { kind: string }, { tool, args }: FallbackCall) => ({
      content: [{ type: "text", text: `${tool} ${String(args["text"])}: ${kind}` }],
    });
    await using client = createTestClient(server, { ...QUICK_RETRY, fallback });
    expect((await client.callTool(echo("x"))).text()).toBe("x");
    server.addFault(down, { method: "tools/call" });
    expect((await client.callTool(echo("x"))).text()).toBe("echo x: unavailable");
    expect(await rejection(client.callTool(echo(), { timeoutMs: -1 }))).toMatchObject({
      kind: "invalid-config",
    });
  });

  it("that returns undefined, returns an invalid result or throws keeps the failure", async () => {
    await using server = await startMcpTestServer();
    server.addFault(down, { method: "tools/call" });
    const fallbacks = [() => undefined, () => 7, () => Promise.reject(new Error("no"))];
    for (const fallback of fallbacks) {
      await using client = createTestClient(server, { ...QUICK_RETRY, fallback } as never);
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unavailable" });
    }
  });

  it("of lastGoodResult never responds to a call with other headers or _meta", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
    const callAs = (user: string, field: "headers" | "meta") =>
      client.callTool(echo("private"), { idempotent: true, [field]: { "x-user": user } });
    await callAs("alice", "headers");
    await callAs("alice", "meta");
    server.addFault(down, { method: "tools/call" });
    expect((await callAs("alice", "headers")).text()).toBe("private");
    expect((await callAs("alice", "meta")).text()).toBe("private");
    expect(await rejection(callAs("bob", "headers"))).toMatchObject({ kind: "unavailable" });
    expect(await rejection(callAs("bob", "meta"))).toMatchObject({ kind: "unavailable" });
    expect(await rejection(client.callTool(echo("private"), { idempotent: true }))).toMatchObject({
      kind: "unavailable",
    });
  });

  it("of lastGoodResult does not record that input is required", async () => {
    const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    const inputRequests = { sure: { method: "elicitation/create", params: form } };
    const ask: TestTool = { name: "echo", run: () => ({ resultType: "input_required", inputRequests }) };
    await using server = await startEraServer("modern", { tools: [ask] });
    await using client = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
    const callEcho = () => client.callTool(echo("a"), { idempotent: true, input: {} });
    expect(await callEcho()).toMatchObject({ inputRequired: { requests: { sure: {} } } });
    server.addFault(down, { method: "tools/call" });
    expect(await rejection(callEcho())).toMatchObject({ kind: "unavailable" });
  });

  describe("of lastGoodResult has no result of a call that required input", () => {
    const form = { message: "Which account?", requestedSchema: BOOKING.requestedSchema };
    /** Requires input unless its argument `name` is set. */
    const balance: TestTool = {
      name: "balance",
      run: ({ name }, context) => {
        const { inputResponses } = context as unknown as ModernToolContext;
        const answer = (inputResponses?.["who"]?.["content"] as { name: string } | undefined)?.name ?? name;
        const inputRequests = { who: { method: "elicitation/create", params: form } };
        return answer === undefined
          ? { resultType: "input_required", inputRequests }
          : `balance of ${String(answer)}`;
      },
    };
    const fallback = () => lastGoodResult({ maxAgeMs: 60_000 });
    const options = { idempotent: true };

    it("from a handler", async () => {
      await using server = await startEraServer("modern", { tools: [balance] });
      let name = "alice";
      await using client = createTestClient(server, {
        fallback: fallback(),
        onElicitationRequest: () => ({ action: "accept", content: { name } }),
      });
      const callBalance = () => client.callTool({ name: "balance" }, options);
      expect((await callBalance()).text()).toBe("balance of alice");
      server.addFault(down, { method: "tools/call" });
      name = "bob";
      expect(await rejection(callBalance())).toMatchObject({ kind: "unavailable" });
    });

    it("from the caller", async () => {
      await using server = await startEraServer("modern", { tools: [balance] });
      await using client = createTestClient(server, { fallback: fallback() });
      const callWith = (name: string) => {
        const responses = { who: { action: "accept", content: { name } } };
        return client.callTool({ name: "balance" }, { ...options, input: { responses } });
      };
      expect((await callWith("alice")).text()).toBe("balance of alice");
      server.addFault(down, { method: "tools/call" });
      expect(await rejection(callWith("bob"))).toMatchObject({ kind: "unavailable" });
      expect(await rejection(client.callTool({ name: "balance" }, options))).toMatchObject({
        kind: "unavailable",
      });
    });

    it("nor the result of an earlier call that did not", async () => {
      let requiresInput = false;
      const changing: TestTool = {
        name: "balance",
        run: (args, context) => balance.run(requiresInput ? args : { name: "everybody" }, context),
      };
      await using server = await startEraServer("modern", { tools: [changing] });
      await using client = createTestClient(server, {
        fallback: fallback(),
        onElicitationRequest: () => {
          server.addFault(down, { method: "tools/call" });
          return { action: "accept", content: { name: "bob" } };
        },
      });
      const callBalance = () => client.callTool({ name: "balance" }, options);
      expect((await callBalance()).text()).toBe("balance of everybody");
      requiresInput = true;
      expect(await rejection(callBalance())).toMatchObject({ kind: "unavailable" });
    });

    it("and drops the earlier one once a call has required input", async () => {
      let requiresInput = false;
      const changing: TestTool = {
        name: "balance",
        run: (args, context) => balance.run(requiresInput ? args : { name: "everybody" }, context),
      };
      await using server = await startEraServer("modern", { tools: [changing] });
      await using client = createTestClient(server, {
        fallback: fallback(),
        onElicitationRequest: () => ({ action: "accept", content: { name: "bob" } }),
      });
      const callBalance = () => client.callTool({ name: "balance" }, options);
      expect((await callBalance()).text()).toBe("balance of everybody");
      requiresInput = true;
      expect((await callBalance()).text()).toBe("balance of bob");
      server.addFault(down, { method: "tools/call" });
      expect(await rejection(callBalance())).toMatchObject({ kind: "unavailable" });
    });

    it.each(["form", "sample", "roots"])("on a server with sessions (%s)", async (tool) => {
      await using server = await startSdkServer(() => createElicitingServer({ relatedToCall: false }));
      const root = { uri: "file:///alice" };
      await using client = createTestClient(server, {
        fallback: fallback(),
        roots: () => [root],
        onSamplingRequest: () => ({ model: "m", content: "alice" }),
        onElicitationRequest: () => ({ action: "accept", content: { name: "alice" } }),
      });
      expect((await client.callTool({ name: tool }, options)).text()).toContain("alice");
      await server[Symbol.asyncDispose]();
      expect(await rejection(client.callTool({ name: tool }, options))).toBeInstanceOf(McpRuntimeError);
    });

    it("while a person answers a server with sessions", async () => {
      await using server = await startSdkServer(() => createElicitingServer());
      let responds = true;
      const recorded: boolean[] = [];
      await using client = createTestClient(server, {
        fallback: {
          record: ({ hasInput }: FallbackCall) => recorded.push(hasInput),
          respond: (_, { hasInput }: FallbackCall) => (hasInput ? undefined : "recorded"),
        },
        onElicitationRequest: (_, { signal }) =>
          responds
            ? { action: "accept", content: { name: "alice" } }
            : new Promise((resolve) => signal.addEventListener("abort", () => resolve({ action: "cancel" }))),
      });
      await client.callTool({ name: "form" }, options);
      await client.callTool({ name: "unknown" }, options);
      expect(recorded).toEqual([true, false]);
      responds = false;
      expect(
        await rejection(client.callTool({ name: "form" }, { ...options, timeoutMs: 200 })),
      ).toMatchObject({
        kind: "timeout",
      });
    });
  });

  it("of lastGoodResult keeps 64 MiB of results: the server decides how large they are", async () => {
    const text = "x".repeat(30_000_000);
    await using server = await startMcpTestServer({ tools: [{ name: "echo", run: () => text }] });
    await using client = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
    const names = ["a", "b", "c"];
    for (const name of names) await client.callTool(echo(name), { idempotent: true });
    server.addFault(down, { method: "tools/call" });
    expect(await rejection(client.callTool(echo("a"), { idempotent: true }))).toMatchObject({
      kind: "unavailable",
    });
    expect((await client.callTool(echo("c"), { idempotent: true })).text()).toHaveLength(30_000_000);
  });

  it("of lastGoodResult ignores what listeners add to _meta, such as a trace id", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
    let traces = 0;
    client.on("requestStarted", ({ addMeta }) => addMeta("traceparent", String((traces += 1))));
    await client.callTool(echo("a"), { idempotent: true });
    server.addFault(down, { method: "tools/call" });
    expect((await client.callTool(echo("a"), { idempotent: true })).text()).toBe("a");
  });

  it("of lastGoodResult needs the same arguments, an idempotent tool and a fresh result", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 60_000 }) });
    const callEcho = (args: Record<string, unknown>, idempotent = true) =>
      client.callTool({ name: "echo", args }, { idempotent });
    await callEcho({ text: "a", b: 1 });
    await callEcho({ text: "unsafe" }, false);
    server.addFault(down, { method: "tools/call" });
    const again = await callEcho({ b: 1, text: "a" });
    expect(again.text()).toBe("a");
    expect(again.meta).toMatchObject({
      "langchain-mcp-runtime/fallback": { kind: "unavailable", ageMs: expect.any(Number) },
    });
    expect(await rejection(callEcho({ text: "b" }))).toMatchObject({ kind: "unavailable" });
    expect(await rejection(callEcho({ text: "unsafe" }, false))).toMatchObject({ kind: "unavailable" });
    await using stale = createTestClient(server, { fallback: lastGoodResult({ maxAgeMs: 0 }) });
    server.clearFaults();
    await stale.callTool(echo(), { idempotent: true });
    server.addFault(down, { method: "tools/call" });
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(await rejection(stale.callTool(echo(), { idempotent: true }))).toMatchObject({
      kind: "unavailable",
    });
  });
});

it("a fallback function that rejects with an unexpected error is not said to have sent the call", async () => {
  const fallback = async () => Promise.reject(new Error("the cache is not available"));
  await using client = createTestClient("http://127.0.0.1:1/mcp", { ...QUICK_RETRY, fallback });
  const error = await rejection(client.callTool(echo()));
  // It may have run the call before.
  expect(error).toMatchObject({ kind: "not-sent", outcomeUnknown: true });
  expect(error.message).toContain("Its fallback may have run the call: it failed with an unexpected error.");
  expect(error.message).not.toContain("was sent");
});

describe("a fallback that is another client and may have run the call", () => {
  const unreachable = { url: "http://127.0.0.1:1/mcp" };

  it("fails after it was sent: the kept failure says so, also to the model", async () => {
    await using server = await startMcpTestServer();
    await using spare = createTestClient(server, QUICK_RETRY);
    await spare.ensureSession();
    server.addFault(cut, { method: "tools/call" });
    await using client = createTestClient(unreachable, { ...QUICK_RETRY, fallback: spare });
    const error = await rejection(client.callTool(echo()));
    expect(error).toMatchObject({ kind: "not-sent", outcomeUnknown: true });
    expect(error.message).toContain("Its fallback may have run the call");
    expect(server.executions).toHaveLength(1);
    await using source = await startMcpTestServer();
    await using mcp = await createMcpTools({ echoes: { url: source.url, ...QUICK_RETRY, fallback: spare } });
    await source.stop();
    const toolCall = { type: "tool_call", id: "1", name: "echoes__echo", args: { text: "x" } };
    const message: unknown = await mcp.tools[0]?.invoke(toolCall);
    const { content } = message as { readonly content: string };
    expect(content).toContain("The tool may have run: check before you call it again.");
    expect(content).not.toContain("was not run");
    expect(server.executions).toHaveLength(2);
  });

  it("does not respond in time: the kept failure says so", async () => {
    await using server = await startMcpTestServer();
    await using spare = createTestClient(server, QUICK_RETRY);
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const clock = new FakeClock();
    const definition = { retry: false, fallback: spare, timeouts: { totalMs: 5_000 } } as const;
    await using client = createTestClient(unreachable, definition, { clock });
    const failure = rejection(client.callTool(echo()));
    await server.waitFor("tools/call");
    clock.advance(5_000);
    const error = await failure;
    expect(error).toMatchObject({ kind: "not-sent", outcomeUnknown: true });
    expect(error.message).toContain("it did not settle within 5000 ms");
  });

  it("is running when the client is closed: the failure says so", async () => {
    await using server = await startMcpTestServer();
    await using spare = createTestClient(server, QUICK_RETRY);
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const client = createTestClient(unreachable, { retry: false, fallback: spare });
    const failure = rejection(client.callTool(echo()));
    await server.waitFor("tools/call");
    await client.close();
    expect(await failure).toMatchObject({ kind: "closed", outcomeUnknown: true });
  });

  it("provably has not run it: the kept failure is not changed", async () => {
    await using spare = createTestClient(unreachable, { retry: false });
    await using client = createTestClient(unreachable, { retry: false, fallback: spare });
    const error = await rejection(client.callTool(echo()));
    expect(error).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
    expect(error.message).not.toContain("fallback");
  });
});

describe("a failure after several attempts", () => {
  it("has outcomeUnknown when an earlier attempt may have run", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, QUICK_RETRY);
    await client.ensureSession();
    server.addFault(cut, { method: "tools/call", times: 1 });
    server.addFault({ type: "status", status: 401 }, { method: "tools/call" });
    expect(await rejection(client.callTool(echo(), { idempotent: true }))).toMatchObject({
      kind: "unauthorized",
      attempts: 2,
      outcomeUnknown: true,
    });
    expect(server.executions).toHaveLength(1);
  });

  it("is passed to the fallback with server, tool, attempts and outcomeUnknown", async () => {
    await using server = await startMcpTestServer();
    const seen: unknown[] = [];
    const fallback = (failure: unknown) => void seen.push(failure);
    const clock = new FakeClock();
    const definition = { ...QUICK_RETRY, fallback, timeouts: { requestMs: 100 } };
    await using client = createTestClient(server, definition, { clock });
    await client.ensureSession();
    server.addFault({ type: "hang" }, { method: "tools/call" });
    const call = rejection(client.callTool(echo()));
    await server.waitFor("tools/call");
    clock.advance(100);
    const failure = await call;
    const expected = { kind: "timeout", server: "test", tool: "echo", attempts: 1, outcomeUnknown: true };
    expect(failure).toMatchObject(expected);
    expect(seen).toMatchObject([expected]);
  });
});
