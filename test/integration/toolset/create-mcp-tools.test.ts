import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  createMcpToolsFromAgent,
  McpClient,
  type ServerDefinition,
} from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { deferred, eventually, rejection, times } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const say: TestTool = { name: "say", run: ({ text }) => String(text) };

function agentWith(...resources: object[]) {
  return { name: "agent", resources: resources.map((resource) => ({ $resourceType: "mcp", ...resource })) };
}

const weather = {
  name: "weather",
  slug: "weather-1",
  folderPath: "Shared/Travel",
  availableTools: [
    {
      name: "forecast",
      description: "The weather.",
      inputSchema: {
        type: "object",
        properties: { city: { type: "string" }, key: { type: "string" } },
        required: ["city", "key"],
      },
      argumentProperties: {
        "$['key']": { variant: "argument", argumentPath: "weatherKey", isSensitive: true },
      },
    },
  ],
};
const forecast: TestTool = {
  name: "forecast",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, key: { type: "string" } },
    required: ["city", "key"],
  },
  run: (args) => JSON.stringify(args),
};

describe("createMcpTools", () => {
  it("connects to all servers at once and returns their tools in order", async () => {
    const servers = await Promise.all(times(10, () => startMcpTestServer({ tools: [say] })));
    for (const server of servers) server.addFault({ type: "delay", ms: 30 });
    const definitions = Object.fromEntries(servers.map((server, n) => [`s${n}`, { url: server.url }]));
    await using mcp = await createMcpTools(definitions);
    expect(mcp.tools.map(({ name }) => name)).toEqual(times(10, (n) => `s${n}__say`));
    expect(Object.keys(mcp.clients)).toEqual(times(10, (n) => `s${n}`));
    expect(mcp.getTools("s3", "s1").map(({ mcp: { server } }) => server)).toEqual(["s1", "s3"]);
    expect(() => mcp.getTools("unknown")).toThrow(
      expect.objectContaining({ kind: "invalid-config", server: "unknown" }),
    );
    await Promise.all(servers.map((server) => server.close()));
  });

  it("counts the tokens of a tool that is named like a method of objects", async () => {
    await using server = await startMcpTestServer({ tools: [{ ...say, name: "constructor" }] });
    const servers: Record<string, ServerDefinition> = { toString: { server } };
    await using mcp = await createMcpTools(servers, { naming: { prefix: false } });
    const { tokens, servers: costs } = mcp.tokenCosts();
    expect(tokens).toBeGreaterThan(0);
    expect(tokens).toBe(costs["toString"]?.tools["constructor"]);
  });

  it("returns clients by name that are also iterable", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ a: { url: server.url }, b: { url: server.url } });
    expect([...mcp.clients]).toEqual([mcp.clients.a, mcp.clients.b]);
    expect(Object.entries(mcp.clients)).toEqual([
      ["a", mcp.clients.a],
      ["b", mcp.clients.b],
    ]);
    for (const client of mcp.clients) await client.close();
    expect([...mcp.clients].map(({ state }) => state)).toEqual(["closed", "closed"]);
  });

  it("throws if a server fails, and closes the others", async () => {
    await using good = await startMcpTestServer({ tools: [say] });
    const failure = await rejection(
      createMcpTools({ good: { url: good.url }, bad: { url: "http://127.0.0.1:1/mcp" } }),
    );
    expect(failure).toMatchObject({ kind: "not-sent", server: "bad" });
    await eventually(() => good.openSessions.length === 0 && good.openSockets === 0);
  });

  it("continues without an optional server, with a warning", async () => {
    await using good = await startMcpTestServer({ tools: [say] });
    const logger = new RecordingLogger();
    const servers = { good: { url: good.url }, bad: { url: "http://127.0.0.1:1/mcp", optional: true } };
    await using mcp = await createMcpTools(servers, { logger, startupWaitMs: 60_000 });
    expect(mcp.status()).toMatchObject({
      good: { state: "connected", tools: 1 },
      bad: { state: "failed", tools: 0, error: { kind: "not-sent" } },
    });
    expect(logger.messages).toEqual([expect.stringContaining('"bad" is excluded')]);
  });

  it("closes all servers if names collide or it is aborted", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    const twins = { a: { url: server.url }, b: { url: server.url } };
    const naming = { prefix: "none", onCollision: "error" } as const;
    expect(await rejection(createMcpTools(twins, { naming }))).toMatchObject({
      kind: "invalid-config",
    });
    server.addFault({ type: "hang" }, { method: "tools/list" });
    const controller = new AbortController();
    const stopped = rejection(createMcpTools(twins, { signal: controller.signal }));
    await eventually(() => server.received("tools/list").length === 4);
    controller.abort("stop");
    expect(await stopped).toBe("stop");
    await eventually(() => server.openSessions.length === 0 && server.openSockets === 0);
  });

  it.each([
    [null, [""]],
    [{ a: { url: "nowhere" }, b: {} }, ["a.url", "b"]],
    [{ a: { url: "http://x.test", tools: { get: { timeout: 1 } } } }, ["a.tools.get"]],
  ])("rejects servers %j", async (servers, paths) => {
    const failure = await rejection(createMcpTools(servers as never));
    expect(failure.kind).toBe("invalid-config");
    expect(failure.issues.map(({ path }) => path)).toEqual(paths);
  });

  it.each([
    [{ onToolError: "sometimes" }, "onToolError"],
    [{ structuredContent: "all" }, "structuredContent"],
    [{ beforeToolCall: 7 }, "beforeToolCall"],
    [{ limits: { contentChars: 0 } }, "limits.contentChars"],
    [{ meta: 7 }, "meta"],
  ])("rejects options %j", async (options, path) => {
    expect(await rejection(createMcpTools({}, options as never))).toMatchObject({
      kind: "invalid-config",
      issues: [{ path }],
    });
  });

  it("rejects tool rules that are not an object", async () => {
    expect(await rejection(createMcpTools({}, { tools: 7 as never }))).toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "", message: expect.stringContaining("rules") }],
    });
  });
});

describe("a toolset", () => {
  it("calls a tool by the name that models see, or by its name on the server", async () => {
    const [a, b] = [
      new McpTestServer({ tools: [say] }),
      new McpTestServer({ tools: [say, { ...say, name: "only b" }] }),
    ];
    await using mcp = await createMcpTools({ a: { server: a }, b: { server: b } });
    expect((await mcp.callTool({ name: "a__say", args: { text: "1" } })).text()).toBe("1");
    expect((await mcp.callTool({ name: "only b", args: { text: "2" } })).text()).toBe("2");
    expect((await mcp.callTool({ name: "say", server: "b", args: { text: "3" } })).text()).toBe("3");
    expect(await rejection(mcp.callTool({ name: "say" }))).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining('"a", "b"'),
    });
    expect(await rejection(mcp.callTool({ name: "nothing" }))).toMatchObject({
      kind: "not-found",
      message: expect.stringContaining("a__say, b__only_b, b__say"),
    });
  });

  it("has a frozen list of tools, and a copy of it to change", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ one: { url: server.url } });
    const [tool] = mcp.tools;
    expect(() => mcp.tools.push(tool as never)).toThrow(TypeError);
    expect(() => mcp.getTools().push(tool as never)).not.toThrow();
    expect(mcp.tools).toEqual([tool]);
    expect(mcp.tools).toBe(mcp.tools);
  });

  it("has tools whose schema cannot be changed for others", async () => {
    const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
    await using server = await startMcpTestServer({ tools: [{ ...say, inputSchema }] });
    const agent = agentWith({ name: "two", availableTools: [{ name: "say", description: "", inputSchema }] });
    for (const schema of ["portable", "as-is"] as const) {
      await using listed = await createMcpTools({ one: { url: server.url } }, { schema });
      await using saved = await createMcpToolsFromAgent(agent, {
        servers: { two: { url: server.url } },
        schema,
      });
      for (const tool of [listed.tools[0], saved.tools[0]]) {
        const shown = tool?.schema as typeof inputSchema;
        expect(() => shown.required.push("extra")).toThrow(TypeError);
        expect(() => Object.assign(shown.properties, { extra: {} })).toThrow(TypeError);
        expect(await tool?.invoke({ text: "hi" })).toBe("hi");
      }
    }
    expect(Object.isFrozen(inputSchema.properties.text)).toBe(false);
  });

  it.each(["its server", "a store"])(
    "has tools from %s whose details cannot be changed for others",
    async (origin) => {
      const details = { annotations: { readOnlyHint: true }, icons: [{ src: "a.png" }], meta: { key: {} } };
      const schemas = { inputSchema: { type: "object", properties: {} }, outputSchema: { type: "object" } };
      const { meta: _meta, ...others } = details;
      await using server = await startMcpTestServer({ tools: [{ ...say, ...schemas, ...others, _meta }] });
      const options = { cache: { store: memoryStore() } };
      if (origin === "a store") await (await createMcpTools({ one: { url: server.url } }, options)).close();
      await using mcp = await createMcpTools({ one: { url: server.url } }, options);
      const [tool] = mcp.tools;
      const [listed] = mcp.servers.toolsOf("one") ?? [];
      const [refreshed] = await mcp.servers.refresh("one");
      expect(tool?.mcp).toMatchObject({ ...details, ...schemas });
      const shared = [tool?.mcp, listed, refreshed].flatMap((info) => [
        info?.annotations,
        info?.icons?.[0],
        info?.meta?.["key"],
        info?.inputSchema,
        info?.inputSchema["properties"],
        info?.outputSchema,
      ]);
      const { annotations, icons, _meta: meta } = tool?.metadata ?? {};
      for (const value of [...shared, annotations, icons, meta])
        expect(() => Object.assign(value as object, { evil: true })).toThrow(TypeError);
    },
  );

  it("returns the result of a call that ran although its tool has left the list meanwhile", async () => {
    const server = new McpTestServer({
      tools: [{ name: "leave", run: async () => leave() }],
    });
    await server.start();
    await using mcp = await createMcpTools({ one: { url: server.url } });
    const leave = async () => {
      server.tools = [say];
      await mcp.refresh();
      return "gone";
    };
    const outcome = await mcp.tryCallTool({ name: "leave" });
    expect(outcome).toMatchObject({ ok: true, server: "one", tool: "leave" });
    expect(outcome.ok && outcome.result.text()).toBe("gone");
    expect(mcp.tools.map(({ name }) => name)).toEqual(["one__say"]);
    await server.close();
  });

  it("calls several tools in order and isolates failures", async () => {
    await using mcp = await createMcpTools({ a: { server: new McpTestServer({ tools: [say] }) } });
    const outcomes = await mcp.callTools([
      { name: "a__say", args: { text: "1" }, id: "x" },
      { name: "nothing" },
      { name: "say", args: { text: "3" } },
    ]);
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.result.text() : outcome.error.kind))).toEqual([
      "1",
      "not-found",
      "3",
    ]);
    expect(outcomes[0]).toMatchObject({ requestId: "x", server: "a", attempts: 1, tool: "a__say" });
  });

  it("emits events with the name of their server", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    await using mcp = await createMcpTools({ weather: { url: server.url } });
    const seen: string[] = [];
    const unsubscribe = mcp.on("sessionLost", ({ server: name }) => seen.push(name));
    server.dropSessions();
    await mcp.callTool({ name: "say" });
    unsubscribe();
    server.dropSessions();
    await mcp.callTool({ name: "say" });
    expect(seen).toEqual(["weather"]);
  });

  it("closes once, and its tools and calls then fail with kind closed", async () => {
    await using server = await startMcpTestServer({ tools: [say] });
    const mcp = await createMcpTools({ a: { url: server.url } });
    const { close, tools } = mcp;
    await Promise.all([close(), close()]);
    expect(mcp.status()).toMatchObject({ a: { state: "disconnected", tools: 1 } });
    expect(await rejection(tools[0]?.invoke({}) as Promise<unknown>)).toMatchObject({ kind: "closed" });
    expect(await rejection(mcp.callTool({ name: "say" }))).toMatchObject({ kind: "closed" });
    expect(server.received("initialize")).toHaveLength(1);
    await eventually(() => server.openSockets === 0);
  });

  it("cancels running calls when it closes", async () => {
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: () => new Promise(() => undefined) }],
    });
    const mcp = await createMcpTools({ a: { url: server.url } });
    const call = rejection(mcp.callTool({ name: "slow" }));
    await eventually(() => server.executions.length === 1);
    await mcp.close();
    expect(await call).toMatchObject({ kind: "closed", outcomeUnknown: true });
  });

  it.each([
    ["of close", {}, { drainMs: 10_000 }],
    ["of a server", { session: { drainMs: 10_000 } }, {}],
  ])(
    "waits for running calls up to drainMs %s, also if closeTimeoutMs is shorter",
    async (_, session, options) => {
      await using server = await startMcpTestServer({ tools: [{ name: "slow", run: () => "done" }] });
      const logger = new RecordingLogger();
      const mcp = await createMcpTools(
        { a: { url: server.url, ...session } },
        { closeTimeoutMs: 200, logger },
      );
      server.addFault({ type: "delay", ms: 1_000 }, { method: "tools/call", times: 1 });
      let text: string | undefined;
      const call = mcp.callTool({ name: "slow" }).then((result) => (text = result.text()));
      await server.waitFor("tools/call");
      await mcp.close(options);
      expect({ text, warnings: logger.warnings }).toEqual({ text: "done", warnings: [] });
      await call;
    },
  );

  it.each([-1, Number.NaN, "5", null])("rejects %j as drainMs of close", async (drainMs) => {
    await using server = await startMcpTestServer({ tools: [] });
    await using mcp = await createMcpTools({ a: { url: server.url } });
    const failure = { kind: "invalid-config", message: expect.stringContaining("options.drainMs: expected") };
    for (const target of [mcp, mcp.servers, mcp.clients.a])
      expect(await rejection(target.close({ drainMs } as never))).toMatchObject(failure);
  });

  it("waits for running calls up to drainMs of close, and ignores the arguments of a listener", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: async () => (await promise, "done") }],
    });
    const mcp = await createMcpTools({ a: { url: server.url } });
    const call = mcp.callTool({ name: "slow" });
    await eventually(() => server.executions.length === 1);
    const closing = mcp.close({ drainMs: 5_000 });
    resolve();
    expect((await call).text()).toBe("done");
    await closing;
    const signaled = await createMcpTools({ a: { url: server.url } });
    const listener = signaled.close as (signal: never) => Promise<void>;
    await listener("SIGTERM" as never);
    expect(signaled.status()).toMatchObject({ a: { state: "disconnected" } });
  });
});

describe("createMcpToolsFromAgent", () => {
  it("with snapshots sends nothing before the first call", async () => {
    await using server = await startMcpTestServer({ tools: [forecast] });
    let lookups = 0;
    const servers = () => {
      lookups += 1;
      return { url: server.url };
    };
    await using mcp = await createMcpToolsFromAgent(JSON.stringify(agentWith(weather)), {
      servers,
      agentInput: { weatherKey: "k-123" },
    });
    expect(mcp.tools.map(({ name, description }) => [name, description])).toEqual([
      ["forecast", "The weather."],
    ]);
    expect(mcp.tools[0]?.metadata).toMatchObject({
      tool_type: "mcp",
      slug: "weather-1",
      folder_path: "Shared/Travel",
      server: "weather",
    });
    expect([lookups, server.socketsOpened]).toEqual([0, 0]);
    expect(await mcp.tools[0]?.invoke({ city: "Oslo", key: "mine" })).toBe('{"city":"Oslo","key":"k-123"}');
    expect([lookups, server.executions.length]).toEqual([1, 1]);
    expect(JSON.stringify(mcp.tools[0]?.schema)).not.toContain("key");
  });

  it.each(["weather", "weather-1"])("finds its server by %s", async (key) => {
    await using mcp = await createMcpToolsFromAgent(agentWith(weather), {
      servers: { [key]: { server: new McpTestServer({ tools: [forecast] }) } },
    });
    expect(await rejection(mcp.tools[0]?.invoke({ city: "Oslo" }) as Promise<unknown>)).toMatchObject({
      kind: "denied",
      message: expect.stringContaining("argument (key)"),
    });
    expect(Object.keys(mcp.clients)).toEqual(["weather"]);
  });

  it("lists the tools of a dynamic resource, all or those with a snapshot", async () => {
    const server = new McpTestServer({ tools: [forecast, say] });
    const dynamic = (allowAll: boolean) => ({
      ...weather,
      toolsConfiguration: { discoveryMode: { type: "dynamic", allowAll } },
    });
    const servers = { weather: { server } };
    await using some = await createMcpToolsFromAgent(agentWith(dynamic(false)), { servers });
    expect(some.tools.map(({ name }) => name)).toEqual(["forecast"]);
    await using all = await createMcpToolsFromAgent(agentWith(dynamic(true)), { servers });
    expect(all.tools.map(({ name }) => name)).toEqual(["forecast", "say"]);
  });

  it("ignores disabled resources and other kinds of resources", async () => {
    const agent = {
      resources: [
        { $resourceType: "mcp", ...weather, isEnabled: false },
        { $resourceType: "index", name: "docs" },
      ],
    };
    await using mcp = await createMcpToolsFromAgent(agent);
    expect([mcp.tools, mcp.clients]).toEqual([[], {}]);
  });

  it("reports every resource without a server", async () => {
    const failure = await rejection(
      createMcpToolsFromAgent(agentWith(weather, { ...weather, name: "news", slug: "news-1" })),
    );
    expect(failure.kind).toBe("invalid-config");
    expect(failure.issues.map(({ path }) => path)).toEqual(['resource "weather"', 'resource "news"']);
    expect(failure.message).toContain('servers: { "weather-1": { url } }');
  });

  it("names the keys of servers that match no resource", async () => {
    const server = { url: "http://x.test" };
    const news = { ...weather, name: "news", slug: "news" };
    const disabled = { ...news, name: "old", slug: "old", isEnabled: false };
    const agent = agentWith({ ...weather, slug: "weather" }, news, disabled);
    const findMessages = async (servers: Record<string, typeof server>) => {
      const { issues } = await rejection(createMcpToolsFromAgent(agent, { servers }));
      return issues.map(({ path, message }) => [path, message.replace(/^.*=> …/, "")]);
    };
    expect(await findMessages({ wether: server, news: server, old: server })).toEqual([
      ['resource "weather"', '. "wether" in servers matches no resource; did you mean "weather"?'],
    ]);
    expect(await findMessages({ climate: server, news: server })).toEqual([
      ['resource "weather"', '. "climate" in servers matches no resource'],
    ]);
    expect(await findMessages({ old: server, news: server })).toEqual([['resource "weather"', ""]]);
    expect(await findMessages({ wether: server, nws: server })).toEqual([
      ['resource "weather"', '. "wether" in servers matches no resource; did you mean "weather"?'],
      ['resource "news"', '. "nws" in servers matches no resource; did you mean "news"?'],
    ]);
  });

  it("uses a server of the agent definition only with allowInlineServers", async () => {
    await using server = await startMcpTestServer({ tools: [forecast] });
    const remote = agentWith({ ...weather, server: { url: server.url } });
    const command = agentWith({ ...weather, server: { command: "rm", args: ["-rf", "/"] } });
    expect(await rejection(createMcpToolsFromAgent(remote))).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("allowInlineServers"),
    });
    expect(await rejection(createMcpToolsFromAgent(command, { allowInlineServers: "remote" }))).toMatchObject(
      { message: expect.stringContaining("stdio") },
    );
    await using mcp = await createMcpToolsFromAgent(remote, {
      allowInlineServers: "remote",
      agentInput: { weatherKey: "k" },
    });
    expect(await mcp.tools[0]?.invoke({ city: "Oslo" })).toContain("Oslo");
    await using own = await createMcpToolsFromAgent(
      agentWith({ ...weather, server: { url: "http://127.0.0.1:1/mcp" } }),
      {
        servers: { weather: { url: server.url } },
        agentInput: { weatherKey: "k" },
        allowInlineServers: true,
      },
    );
    expect(await own.tools[0]?.invoke({ city: "Rome" })).toContain("Rome");
  });

  it("prefixes colliding names, or closes all servers", async () => {
    await using server = await startMcpTestServer({ tools: [forecast] });
    const dynamic = { toolsConfiguration: { discoveryMode: { type: "dynamic", allowAll: true } } };
    const agent = agentWith(
      { ...weather, ...dynamic },
      { ...weather, ...dynamic, name: "news", slug: "news-1" },
    );
    const servers = { weather: { url: server.url }, news: { url: server.url } };
    const naming = { onCollision: "error" } as const;
    expect(await rejection(createMcpToolsFromAgent(agent, { servers, naming }))).toMatchObject({
      kind: "invalid-config",
    });
    await eventually(() => server.openSessions.length === 0);
    await using mcp = await createMcpToolsFromAgent(agent, { servers, naming: { onCollision: "prefix" } });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["weather__forecast", "news__forecast"]);
  });

  it("rejects two enabled resources with the same name", async () => {
    const agent = agentWith(weather, { ...weather, slug: "other" });
    expect(
      await rejection(createMcpToolsFromAgent(agent, { servers: () => ({ url: "http://x.test" }) })),
    ).toMatchObject({ kind: "invalid-config" });
  });

  it("never exposes a sensitive argument in schema, failure, message, artifact or approval", async () => {
    const server = new McpTestServer({ tools: [forecast] });
    const approvals: unknown[] = [];
    await using mcp = await createMcpToolsFromAgent(agentWith(weather), {
      servers: { weather: { server, tools: { forecast: { requireApproval: true } } } },
      agentInput: { weatherKey: "canary-77" },
      onApproval: ({ args }) => {
        approvals.push(args);
        return false;
      },
    });
    const [tool] = mcp.tools;
    const call = { type: "tool_call" as const, id: "1", name: "forecast" };
    const seen = [
      tool?.schema,
      await tool?.invoke({ ...call, args: { city: 7 } }),
      await tool?.invoke({ ...call, args: { city: "Oslo" } }),
      approvals,
    ];
    expect(approvals).toEqual([{ city: "Oslo", key: "***" }]);
    expect(JSON.stringify(seen)).not.toContain("canary-77");
  });
});

describe("createMcpToolsForServer", () => {
  it("creates tools of a resource on a client of the caller", async () => {
    const server = new McpTestServer({ tools: [forecast] });
    await using client = new McpClient({ name: "mine", server });
    const tools = createMcpToolsForServer(weather, { client, agentInput: { weatherKey: "k" } });
    expect(tools.map(({ name, metadata }) => [name, metadata?.["server"]])).toEqual([["forecast", "mine"]]);
    expect(client.state).toBe("idle");
    expect(await tools[0]?.invoke({ city: "Oslo" })).toContain("Oslo");
    expect(createMcpToolsForServer({ ...weather, isEnabled: false }, { client })).toEqual([]);
  });

  it.each([null, 7, {}, { name: "x", availableTools: "none" }])("rejects %j", (resource) => {
    const client = new McpClient({ name: "mine", server: new McpTestServer() } satisfies {
      name: string;
    } & ServerDefinition);
    expect(() => createMcpToolsForServer(resource, { client })).toThrow(
      expect.objectContaining({ kind: "invalid-config" }),
    );
  });

  it("rejects a resource with dynamic discovery", () => {
    const client = new McpClient({ name: "mine", server: new McpTestServer() });
    const dynamic = { ...weather, dynamicTools: "all" };
    expect(() => createMcpToolsForServer(dynamic, { client })).toThrow(
      expect.objectContaining({ kind: "invalid-config", server: "mine" }),
    );
  });
});
