import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import {
  context,
  createTraceState,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMcpTools, createMcpToolsFromAgent, McpClient } from "../../../src/index.js";
import { instrumentMcp } from "../../../src/telemetry/opentelemetry/index.js";
import { McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { userInput, createScriptedModel } from "../../fixtures/agents.js";
import { createTestClient, eventually, echo, rejection, deferred } from "../../fixtures/clients.js";
import { sendError, startRawServer } from "../../fixtures/raw-server.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { createStdioClient } from "../../fixtures/stdio-servers.js";
import { Tracing } from "../../fixtures/tracing.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const weather = { name: "get_weather", run: () => "sun" };
const call = { name: "get_weather" };

interface Message {
  readonly id: number;
  readonly params: { readonly _meta?: Record<string, unknown> };
}

/** The first request of a method that a server received. */
function firstRequest(server: McpTestServer, method = "tools/call"): Message {
  const [received] = server.received(method);
  return received?.body as Message;
}

function metaOfRequest(server: McpTestServer, method?: string): Record<string, unknown> {
  return firstRequest(server, method).params._meta ?? {};
}

function traceparentOf(span: Pick<Span, "spanContext">): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
}

function hashSessionId(id: string | undefined): string {
  return createHash("sha256")
    .update(id ?? "")
    .digest("hex")
    .slice(0, 32);
}

describe("a call in OpenTelemetry", () => {
  it("is a span that follows the MCP conventions, with its handshake as a child", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    await client.callTool(call);
    const span = tracing.span("tools/call get_weather");
    expect(span.kind).toBe(SpanKind.CLIENT);
    expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(span.parentSpanContext).toBeUndefined();
    expect(span.instrumentationScope).toMatchObject({ name: "langchain-mcp-runtime" });
    const transportAttributes = {
      "mcp.protocol.version": expect.stringMatching(/^20\d\d-/),
      "mcp.session.id": hashSessionId(client.sessionId),
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(server.url).port),
      "langchain_mcp.server": "test",
    };
    expect(span.attributes).toEqual({
      ...transportAttributes,
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "get_weather",
      "jsonrpc.request.id": String(firstRequest(server).id),
      "langchain_mcp.attempts": 1,
    });
    const handshake = tracing.span("initialize");
    expect(handshake.attributes).toEqual({ ...transportAttributes, "mcp.method.name": "initialize" });
    expect(handshake.parentSpanContext?.spanId).toBe(span.spanContext().spanId);
  });

  it.each(["json", "sse"] as const)(
    "reaches the server as traceparent in _meta (%s)",
    async (responseFormat) => {
      await using server = await startMcpTestServer({ tools: [weather], responseFormat });
      await using tracing = await Tracing.start();
      await using client = createTestClient(server);
      await client.callTool(call, { meta: { tenant: "mine" } });
      expect(metaOfRequest(server)).toMatchObject({
        tenant: "mine",
        traceparent: traceparentOf(tracing.span("tools/call get_weather")),
      });
    },
  );

  it.each(["auto", "legacy"] as const)(
    "has a handshake that carries its own context (%s)",
    async (protocol) => {
      await using server = await startMcpTestServer({ tools: [weather] });
      await using tracing = await Tracing.start();
      await using client = new McpClient({ name: "test", url: server.url, protocol });
      await client.callTool(call);
      expect(metaOfRequest(server, "initialize")["traceparent"]).toBe(
        traceparentOf(tracing.span("initialize")),
      );
    },
  );

  it("is a child of the active span, with its trace state and baggage", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    const remote = {
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: "b7ad6b7169203331",
      traceFlags: 1,
      traceState: createTraceState("rojo=00f067aa0ba902b7"),
    };
    const baggage = propagation.createBaggage({ user: { value: "Ann & Bob" } });
    const active = propagation.setBaggage(trace.setSpanContext(ROOT_CONTEXT, remote), baggage);
    await context.with(active, () => client.callTool(call));
    const span = tracing.span("tools/call get_weather");
    expect(span.parentSpanContext?.spanId).toBe(remote.spanId);
    expect(metaOfRequest(server)).toMatchObject({
      traceparent: traceparentOf(span),
      tracestate: "rojo=00f067aa0ba902b7",
      baggage: "user=Ann%20%26%20Bob",
    });
  });

  it("is a child of the span of an agent run", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const agent = createReactAgent({
      llm: createScriptedModel([{ name: "srv__get_weather", args: {} }]),
      tools: mcp.tools,
    });
    await tracing.tracer.startActiveSpan("invoke_agent", async (span) => {
      await agent.invoke(userInput);
      span.end();
    });
    const [outer, inner] = [tracing.span("invoke_agent"), tracing.span("tools/call get_weather")];
    expect(inner.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });

  it("has attributes for its LangChain run, thread and tool call", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const agent = createReactAgent({
      llm: createScriptedModel([{ name: "srv__get_weather", args: {} }]),
      tools: mcp.tools,
    });
    const runs: [id: string, name: string | undefined, metadata: unknown][] = [];
    const callbacks = [
      BaseCallbackHandler.fromMethods({
        handleToolStart: (_, __, runId, ___, ____, metadata, runName) =>
          void runs.push([runId, runName, metadata]),
      }),
    ];
    await agent.invoke(userInput, { callbacks, configurable: { thread_id: "thread-7" } });
    expect(runs).toHaveLength(1);
    const [[runId, runName, metadata] = []] = runs;
    expect(tracing.span("tools/call get_weather").attributes).toMatchObject({
      "langchain.run_id": runId,
      "gen_ai.tool.call.id": "call-1",
      "gen_ai.conversation.id": "thread-7",
    });
    expect(runName).toBe("srv__get_weather");
    expect(metadata).toMatchObject({ tool_type: "mcp", server: "srv" });
  });

  it("can be attached to the spans of LangChain runs", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    const spansOfRuns = new Map<string, Span>();
    await using tracing = await Tracing.start({
      parent: (request) => {
        const span = spansOfRuns.get(request.context()?.runId ?? "");
        return span && trace.setSpan(context.active(), span);
      },
    });
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    const handler = BaseCallbackHandler.fromMethods({
      handleToolStart: (_, __, runId, ___, ____, _____, name = "") =>
        void spansOfRuns.set(runId, tracing.tracer.startSpan(name)),
      handleToolEnd: (_, runId) => spansOfRuns.get(runId)?.end(),
    });
    await mcp.tools[0]?.invoke({}, { callbacks: [handler] });
    const [outer, inner] = [tracing.span("srv__get_weather"), tracing.span("tools/call get_weather")];
    expect(inner.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });

  it("is the active span of its HTTP requests", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    const active: (string | undefined)[] = [];
    const onRequest = () => active.push(trace.getActiveSpan()?.spanContext().spanId);
    subscribe("undici:request:create", onRequest);
    await client.callTool(call);
    unsubscribe("undici:request:create", onRequest);
    const of = (name: string) => tracing.span(name).spanContext().spanId;
    expect(active).toEqual([of("initialize"), of("initialize"), of("tools/call get_weather")]);
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it("of a prompt or a resource has its name, without the secrets of a URI", async () => {
    const uri = "postgres://ann:s3cr3t@db.example/customers?token=s3cr3t#s3cr3t";
    await using server = await startMcpTestServer({
      prompts: [{ name: "travel", get: () => "Go." }],
      resources: [{ uri, read: () => "rows" }],
    });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    await client.getPrompt({ name: "travel" });
    await client.readResource(uri);
    expect(tracing.span("prompts/get travel").attributes).toMatchObject({ "gen_ai.prompt.name": "travel" });
    const { attributes } = tracing.span("resources/read");
    expect(attributes["mcp.resource.uri"]).toBe("postgres://db.example/customers");
    expect(JSON.stringify(await tracing.collectMeasurements())).not.toMatch(/s3cr3t|postgres/);
  });

  it("to a modern server has the attributes of that protocol", async () => {
    await using server = await startEraServer("modern", { tools: [weather] });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    await client.callTool(call);
    const span = tracing.span("tools/call get_weather");
    expect(metaOfRequest(server)).toMatchObject({ traceparent: traceparentOf(span) });
    expect(span.attributes).toMatchObject({
      "mcp.protocol.version": "2026-07-28",
      "jsonrpc.request.id": String(firstRequest(server).id),
    });
    expect(span.attributes).not.toHaveProperty("mcp.session.id");
    const { attributes, parentSpanContext } = tracing.span("server/discover");
    expect(attributes["mcp.method.name"]).toBe("server/discover");
    expect(parentSpanContext?.spanId).toBe(span.spanContext().spanId);
    expect(metaOfRequest(server, "server/discover")).toMatchObject({
      traceparent: traceparentOf(tracing.span("server/discover")),
    });
  });

  it("of a stdio server has the pipe transport", async () => {
    await using tracing = await Tracing.start();
    await using client = createStdioClient();
    await client.callTool(echo());
    const { attributes } = tracing.span("tools/call echo");
    expect(attributes).toMatchObject({ "network.transport": "pipe", "mcp.method.name": "tools/call" });
    expect(attributes).not.toHaveProperty("server.address");
    expect(attributes).not.toHaveProperty("mcp.session.id");
  });
});

describe("a failure in OpenTelemetry", () => {
  it("has the JSON-RPC code, tool_error or the failure kind as error.type", async () => {
    const fail = { name: "fail", run: () => Promise.reject(new Error("private")) };
    await using server = await startMcpTestServer({ tools: [weather, fail] });
    await using tracing = await Tracing.start();
    const clock = new FakeClock();
    await using client = createTestClient(server, {}, { clock });
    await client.ensureSession();
    const rpcError = { jsonrpc: "2.0", id: null, error: { code: -32602, message: "no such city" } };
    server.addFault({ type: "status", status: 400, body: JSON.stringify(rpcError) }, { times: 1 });
    const rejected = await rejection(client.callTool(call));
    await client.callTool({ name: "fail" });
    server.addFault({ type: "hang" }, { times: 1 });
    const hanging = rejection(client.callTool(call, { timeoutMs: 20 }));
    await eventually(() => server.received("tools/call").length === 3);
    clock.advance(20);
    const late = await hanging;
    const failures = tracing.spans
      .filter(({ name }) => name.startsWith("tools/call"))
      .map(({ status, attributes }) => [
        attributes["error.type"],
        attributes["rpc.response.status_code"],
        attributes["langchain_mcp.failure.kind"],
        status,
      ]);
    const code = SpanStatusCode.ERROR;
    expect(failures).toEqual([
      ["-32602", "-32602", "invalid-request", { code, message: rejected.message }],
      ["tool_error", undefined, "tool-error", { code }],
      ["timeout", undefined, "timeout", { code, message: late.message }],
    ]);
  });

  it("of a tool or prompt with a long name is a span with its start, without secrets and hidden characters", async () => {
    await using server = await startRawServer((raw) => {
      if (raw.httpMethod !== "POST" || raw.method === "initialize" || raw.id === undefined) return false;
      return sendError(raw, { code: -32602, message: "unknown" });
    });
    await using tracing = await Tracing.start();
    await using client = new McpClient({
      name: "test",
      url: server.url,
      headers: { "x-api-key": "private-key-7" },
      protocol: "legacy",
    });
    await rejection(client.callTool({ name: `find\u202e private-k\u200bey-7 ${"x".repeat(5_000_000)}` }));
    const { name, attributes, status } = tracing.spans.at(-1) ?? {};
    expect(name).toMatch(/^tools\/call find \[redacted\] /u);
    expect(JSON.stringify([name, attributes, status]).length).toBeLessThan(20_000);
    expect(attributes?.["gen_ai.tool.name"]).toMatch(/^find \[redacted\] /u);
    expect(client.metrics().tools).toHaveProperty(["(others)", "calls"], 1);
  });

  it("that is retried, or that lost the session, is an event of the span", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    await using client = new McpClient(
      { name: "test", url: server.url, retry: { maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 } },
      { random: () => 0.5 },
    );
    await client.ensureSession();
    server.dropSessions();
    server.addFault({ type: "status", status: 503 }, { method: "tools/call", times: 1 });
    await client.callTool(call, { idempotent: true });
    const { events, attributes, status } = tracing.span("tools/call get_weather");
    expect(events.map(({ name, attributes: details }) => [name, details])).toEqual([
      [
        "langchain_mcp.retry",
        {
          "langchain_mcp.attempts": 1,
          "langchain_mcp.failure.kind": "unavailable",
          "langchain_mcp.wait_ms": expect.any(Number),
        },
      ],
      ["langchain_mcp.session_lost", {}],
    ]);
    expect(attributes["langchain_mcp.attempts"]).toBe(3);
    expect(status.code).toBe(SpanStatusCode.UNSET);
  });
});

describe("metrics", () => {
  const operations = "mcp.client.operation.duration";

  it("cover operations and sessions, in seconds, in the recommended buckets", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    const client = createTestClient(server);
    await client.callTool(call);
    await client.callTool(call);
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
    await rejection(client.callTool(call));
    await client.close();
    const measured = await tracing.collectMeasurements();
    expect(new Set(measured.map(({ name, unit }) => `${name} ${unit}`))).toEqual(
      new Set([`${operations} s`, "mcp.client.session.duration s"]),
    );
    expect(measured[0]?.value.buckets.boundaries).toEqual([
      0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
    ]);
    const counts = measured.map(({ name, attributes, value }) => [
      name === operations ? attributes["mcp.method.name"] : "session",
      attributes["error.type"],
      value.count,
    ]);
    expect(counts).toEqual([
      ["initialize", undefined, 1],
      ["tools/call", undefined, 2],
      ["tools/call", "server-error", 1],
      ["session", undefined, 1],
    ]);
    for (const { attributes } of measured) {
      expect(attributes).toMatchObject({ "network.transport": "tcp", "server.address": "127.0.0.1" });
      expect(attributes).not.toHaveProperty("mcp.session.id");
    }
  });

  it("have the codes of JSON-RPC and MCP, and the failure kind for codes that a server invents", async () => {
    let code = 0;
    await using server = await startRawServer((raw) => {
      if (raw.method !== "tools/call") return false;
      code += 1;
      return sendError(raw, { code: code === 1 ? -32602 : -code, message: "failed" });
    });
    await using tracing = await Tracing.start();
    await using client = new McpClient({
      name: "test",
      url: server.url,
      retry: false,
      circuitBreaker: false,
    });
    for (let attempt = 0; attempt < 20; attempt += 1) await rejection(client.callTool(call));
    const labels = (await tracing.collectMeasurements())
      .filter(({ attributes }) => attributes["gen_ai.tool.name"] === "get_weather")
      .map(({ attributes, value }) => [
        attributes["error.type"],
        attributes["rpc.response.status_code"],
        attributes["langchain_mcp.failure.kind"],
        value.count,
      ]);
    expect(labels).toEqual([
      ["-32602", "-32602", "invalid-request", 1],
      ["server-error", "_OTHER", "server-error", 19],
    ]);
    expect(tracing.spans.at(-1)?.attributes).toMatchObject({ "error.type": "-20" });
  });

  it("have the first hundred names of the tools and prompts of each server", async () => {
    await using server = await startRawServer();
    await using tracing = await Tracing.start();
    await using first = new McpClient({ name: "first", url: server.url });
    await using second = new McpClient({ name: "second", url: server.url });
    for (let index = 0; index < 110; index += 1) await first.callTool({ name: `invented_${index}` });
    await first.callTool({ name: "invented_0" });
    await second.callTool({ name: "forecast" });
    await second.callTool({ name: "x".repeat(300) });
    const names = (await tracing.collectMeasurements())
      .filter(({ attributes }) => attributes["mcp.method.name"] === "tools/call")
      .map(({ attributes, value }) => [
        attributes["langchain_mcp.server"],
        attributes["gen_ai.tool.name"],
        value.count,
      ]);
    expect(names.length).toBe(103);
    expect(names.slice(0, 2)).toEqual([
      ["first", "invented_0", 2],
      ["first", "invented_1", 1],
    ]);
    expect(names.slice(99)).toEqual([
      ["first", "invented_99", 1],
      ["first", "_OTHER", 10],
      ["second", "forecast", 1],
      ["second", "_OTHER", 1],
    ]);
  });
});

describe("content", () => {
  const tools = [
    { name: "get_weather", run: ({ city }: Record<string, unknown>) => `sun in ${String(city)}` },
  ];

  it("is not recorded by default", async () => {
    await using server = await startMcpTestServer({ tools });
    await using tracing = await Tracing.start();
    await using client = createTestClient(server);
    await client.callTool({ ...call, args: { city: "Oslo" } });
    expect(JSON.stringify(tracing.spans.map(({ attributes }) => attributes))).not.toContain("Oslo");
  });

  it("is recorded without sensitive arguments if enabled", async () => {
    await using server = await startMcpTestServer({ tools });
    await using tracing = await Tracing.start({ recordContent: true });
    const resource = {
      name: "weather",
      availableTools: [
        {
          name: "get_weather",
          inputSchema: { type: "object", properties: { city: { type: "string" }, key: { type: "string" } } },
          argumentProperties: { "$['key']": { variant: "static", value: "s3cr3t-key", isSensitive: true } },
        },
      ],
      toolsConfiguration: { discoveryMode: { type: "cached", refreshSchemaBeforeCall: false } },
    };
    await using mcp = await createMcpToolsFromAgent(
      { resources: [{ $resourceType: "mcp", ...resource }] },
      { servers: { weather: { url: server.url } } },
    );
    await mcp.tools[0]?.invoke({ city: "Oslo" });
    expect(server.executions[0]?.args).toEqual({ city: "Oslo", key: "s3cr3t-key" });
    const { attributes } = tracing.span("tools/call get_weather");
    const args = JSON.parse(String(attributes["gen_ai.tool.call.arguments"])) as Record<string, unknown>;
    expect(args["city"]).toBe("Oslo");
    expect(JSON.stringify(attributes)).not.toContain("s3cr3t-key");
    expect(JSON.parse(String(attributes["gen_ai.tool.call.result"]))).toEqual({
      content: [{ type: "text", text: "sun in Oslo" }],
    });
  });
});

describe("instrumentMcp", () => {
  it("rejects unknown and invalid options", async () => {
    const options = { recordContents: true, parent: "span", recordContent: "yes", tracerProvider: {} };
    const failure = await rejection(instrumentMcp(options as never));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.issues.map(({ path }) => path)).toEqual(["tracerProvider", "recordContent", "parent", ""]);
    expect(failure.issues.at(-1)?.message).toContain(
      'unknown key "recordContents" (did you mean "recordContent"?)',
    );
  });

  it.each([[null], [5], ["otlp"], [[]]])("rejects options that are not an object: %j", async (options) => {
    expect(await rejection(instrumentMcp(options as never))).toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "" }],
    });
  });

  it("called twice, creates each span and measurement once, until both are disabled", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    const second = await instrumentMcp(tracing.providers);
    await using client = createTestClient(server);
    await client.callTool(call);
    expect(tracing.spans.map(({ name }) => name)).toEqual(["initialize", "tools/call get_weather"]);
    second.disable();
    second.disable();
    await client.callTool(call);
    tracing.instrumentation.disable();
    await client.callTool(call);
    expect(tracing.spans).toHaveLength(3);
    const counts = (await tracing.collectMeasurements()).map(({ attributes, value }) => [
      attributes["mcp.method.name"],
      value.count,
    ]);
    expect(counts).toEqual([
      ["initialize", 1],
      ["tools/call", 2],
    ]);
  });

  it("detects the global provider, even if it is passed explicitly", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    trace.setGlobalTracerProvider(tracing.providers.tracerProvider);
    onTestFinished(() => trace.disable());
    const instrumentations = [
      await instrumentMcp(),
      await instrumentMcp({ tracerProvider: trace.getTracerProvider() }),
    ];
    await using client = createTestClient(server);
    await client.callTool(call);
    expect(tracing.spans).toHaveLength(2);
    for (const instrumentation of instrumentations) instrumentation.disable();
  });

  it("supports two tracer providers, and measures once for a shared meter provider", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start();
    const { meterProvider } = tracing.providers;
    await using another = await Tracing.start({ meterProvider });
    await using client = createTestClient(server);
    await client.callTool(call);
    expect([tracing.spans.length, another.spans.length]).toEqual([2, 2]);
    expect((await tracing.collectMeasurements()).map(({ value }) => value.count)).toEqual([1, 1]);
  });

  it("reports the options that differ from an earlier call for the same provider", async () => {
    await using tracing = await Tracing.start();
    const options = { ...tracing.providers, recordContent: true, parent: () => undefined };
    const failure = await rejection(instrumentMcp(options));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.issues.map(({ path }) => path)).toEqual(["recordContent", "parent"]);
    expect(failure.message).toContain("disable()");
  });

  it.each([
    ["excluded by propagateTo", (name: string) => name === "another"],
    ["that an asynchronous propagateTo excludes", (async () => Promise.reject(new Error("x"))) as never],
  ])("does not send trace context to servers %s", async (__, propagateTo) => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using _ = await Tracing.start({ propagateTo });
    await using client = createTestClient(server);
    await client.callTool(call);
    expect(metaOfRequest(server)).not.toHaveProperty("traceparent");
    expect(metaOfRequest(server, "initialize")).not.toHaveProperty("traceparent");
  });

  it("uses the given propagator", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using tracing = await Tracing.start({
      propagator: {
        inject: (active, carrier, { set }) => set(carrier, "b3", trace.getSpanContext(active)?.traceId ?? ""),
      },
    });
    await using client = createTestClient(server);
    await client.callTool(call);
    const { traceId } = tracing.span("tools/call get_weather").spanContext();
    expect(metaOfRequest(server)).toMatchObject({ b3: traceId });
    expect(metaOfRequest(server)).not.toHaveProperty("traceparent");
  });

  it("does not override _meta of the caller", async () => {
    await using server = await startMcpTestServer({ tools: [weather] });
    await using _ = await Tracing.start();
    await using client = createTestClient(server);
    await client.callTool(call, { meta: { traceparent: "mine" } });
    expect(metaOfRequest(server)).toMatchObject({ traceparent: "mine" });
  });

  it("disabled, ends open spans and creates no more", async () => {
    const started = deferred();
    const released = deferred();
    const run = async () => {
      started.resolve();
      await released.promise;
      return "sun";
    };
    await using client = new McpClient({
      name: "linked",
      server: new McpTestServer({ tools: [{ name: "get_weather", run }] }),
    });
    await using tracing = await Tracing.start();
    const pendingCall = client.callTool(call);
    await started.promise;
    tracing.instrumentation.disable();
    released.resolve();
    await pendingCall;
    await client.callTool(call);
    expect(tracing.spans.map(({ name }) => name)).toEqual(["initialize", "tools/call get_weather"]);
  });
});
