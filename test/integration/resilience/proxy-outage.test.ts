import type { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createMcpTools, type McpRuntimeError } from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { GATEWAY_RESPONSES, LoadBalancer } from "../../fixtures/load-balancer.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const DEFAULT_POLICIES = { retry: {}, circuitBreaker: {} } as const;
const STATELESS = { responseFormat: "json", sessionMode: "stateless" } as const;
const SHORT_CIRCUIT = {
  failureThreshold: 1,
  recoveryTimeoutMs: 60_000,
  halfOpenMaxCalls: 1,
  successThreshold: 1,
};

async function restart(server: McpTestServer, downMs: number): Promise<void> {
  await server.stop();
  await new Promise((resolve) => setTimeout(resolve, downMs));
  await server.start();
}

describe("a call is repeated after 503 only if the text proves that no server ran it", () => {
  const RESET = "upstream connect error or disconnect/reset before headers.";
  it.each<[body: string, headers: Record<string, string>, calls: number]>([
    [`${RESET} reset reason: remote connection failure`, {}, 3],
    [`${RESET} retried and the latest reset reason: remote connection failure`, {}, 1],
    [`${RESET} reset reason: connection termination, reset reason: connection failure`, {}, 1],
    ["no healthy upstream", {}, 3],
    ["no healthy upstream", { "x-envoy-upstream-service-time": "12" }, 1],
    ["no healthy upstream", { "mcp-session-id": "raw-session" }, 1],
  ])("%s %j", async (body, headers, calls) => {
    await using server = await startRawServer(({ method, response }) =>
      method === "tools/call" ? void response.writeHead(503, headers).end(body) : false,
    );
    await using client = createTestClient(server, { retry: { baseDelayMs: 1 } });
    await rejection(client.callTool(echo()));
    expect(server.requests.filter(({ method }) => method === "tools/call")).toHaveLength(calls);
  });
});

describe.each(["nginx", "haproxy"] as const)("two stateless servers behind %s", (proxy) => {
  const gatewayResponse = GATEWAY_RESPONSES[proxy];

  it("99 % of the idempotent calls succeed during a rolling restart", async () => {
    const logger = new RecordingLogger();
    await using first = await startMcpTestServer(STATELESS);
    await using second = await startMcpTestServer(STATELESS);
    await using balancer = await LoadBalancer.start({ upstreams: [first.url, second.url], gatewayResponse });
    await using client = createTestClient(balancer, DEFAULT_POLICIES, { logger });
    const errors: McpRuntimeError[] = [];
    let calls = 0;
    const end = new AbortController();
    const callers = times(10, async () => {
      while (!end.signal.aborted) {
        calls += 1;
        const outcome = await client.tryCallTool(echo(), { idempotent: true });
        if (!outcome.ok) errors.push(outcome.error);
      }
    });
    await eventually(() => calls > 100);
    await restart(first, 300);
    const restarted = calls;
    await eventually(() => calls > restarted + 100);
    await restart(second, 300);
    const afterBoth = calls;
    await eventually(() => calls > afterBoth + 100);
    end.abort();
    await Promise.all(callers);
    expect({ calls, failed: errors.length }).toMatchObject({
      failed: expect.toSatisfy((failed: number) => failed <= calls / 100),
    });
    expect(logger.warnings).toEqual([]);
  });

  it("calls succeed again within a second of the return of both, and the outage is logged once", async () => {
    const logger = new RecordingLogger();
    await using first = await startMcpTestServer(STATELESS);
    await using second = await startMcpTestServer(STATELESS);
    await using balancer = await LoadBalancer.start({ upstreams: [first.url, second.url], gatewayResponse });
    const clock = new FakeClock();
    const policies = { ...DEFAULT_POLICIES, retry: false } as const;
    await using client = createTestClient(balancer, policies, { logger, clock });
    await client.callTool(echo());
    await Promise.all([first.stop(), second.stop()]);
    const advance = async (ms: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += 50) {
        clock.advance(50);
        await eventually(() => (client.breaker?.stats().recoversInMs ?? 1) > 0 || hasReturned);
      }
    };
    let hasReturned = false;
    // Five failures, at least 250 ms apart, open the circuit; the outage takes 3.5 s.
    for (let failures = 1; failures <= 5; failures += 1) {
      expect(await client.tryCallTool(echo())).toMatchObject({ ok: false });
      clock.advance(250);
    }
    await advance(2_250);
    await Promise.all([first.start(), second.start()]);
    hasReturned = true;
    await advance(1_000);
    await eventually(() => client.breaker?.stats().state === "closed");
    expect((await client.callTool(echo("back"))).text()).toBe("back");
    expect(logger.warnings).toEqual([
      'The circuit breaker of server "test" is open: calls are rejected until the server answers again.',
    ]);
    expect(logger.lines.filter((line) => line.startsWith("info"))).toEqual([
      expect.stringContaining('The circuit breaker of server "test" is closed again'),
    ]);
  });
});

/** Whether a call that must not run twice is repeated after the first response. */
const RESPONSES = [
  ["haproxy without a server", 503, GATEWAY_RESPONSES.haproxy.body, true],
  ["Envoy without a healthy server", 503, "no healthy upstream", true],
  [
    "Envoy that could not connect",
    503,
    "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure, transport failure reason: delayed connect error: 111",
    true,
  ],
  [
    "Envoy that could not connect when it tried again",
    503,
    "upstream connect error or disconnect/reset before headers. retried and the latest reset reason: remote connection failure, transport failure reason: delayed connect error: 111",
    false,
  ],
  [
    "Envoy that lost the connection",
    503,
    "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
    false,
  ],
  ["Traefik without a server", 503, "no available server\n", true],
  ["nginx", 502, GATEWAY_RESPONSES.nginx.body, false],
  ["a server that is overloaded", 503, "No server is available to handle this request.", false],
  ["a gateway timeout", 504, GATEWAY_RESPONSES.haproxy.body, false],
] as const;

it.each(RESPONSES)(
  "a call that must not run twice, after a response of %s",
  async (_, status, body, isRepeated) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { ...DEFAULT_POLICIES, retry: { baseDelayMs: 1 } });
    await client.ensureSession();
    server.addFault({ type: "status", status, body }, { method: "tools/call", times: 1 });
    const outcome = await client.tryCallTool(echo());
    expect(outcome).toMatchObject(
      isRepeated ? { ok: true } : { ok: false, error: { kind: "unavailable", outcomeUnknown: true } },
    );
  },
);

it("a server that completes handshakes and rejects calls with 503 is probed once, and then not probed again", async () => {
  await using server = await startMcpTestServer();
  await using client = createTestClient(server, { circuitBreaker: SHORT_CIRCUIT });
  const states: string[] = [];
  client.on("breakerChanged", ({ state }) => states.push(state));
  await client.ensureSession();
  server.addFault({ type: "status", status: 503 }, { method: "tools/call" });
  expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unavailable" });
  await eventually(() => states.at(-1) === "closed");
  expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unavailable" });
  expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "circuit-open" });
  expect(states).toEqual(["open", "closed", "open"]);
});

it("the message for a model says that the server asks to wait only if it did", async () => {
  await using server = await startMcpTestServer();
  await using mcp = await createMcpTools(
    { test: { url: server.url, retry: false, circuitBreaker: SHORT_CIRCUIT } },
    { logger: new RecordingLogger(), onToolError: "return" },
  );
  const call = async (): Promise<unknown> => {
    const message: ToolMessage | undefined = await mcp.tools[0]?.invoke({
      type: "tool_call",
      id: "1",
      name: "test__echo",
      args: { text: "x" },
    });
    return message?.content;
  };
  server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
  await call();
  expect(await call()).toContain("No call is sent to the server until ");
  mcp.clients.test.breaker?.forceClose();
  server.addFault(
    { type: "status", status: 429, headers: { "retry-after": "60" } },
    { method: "tools/call" },
  );
  expect(await call()).toContain("The server asks to wait until ");
});
