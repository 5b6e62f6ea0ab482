import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createAgent } from "langchain";
import { describe, expect, it, vi } from "vitest";
import { createMcpTools, type McpToolset } from "../../../src/index.js";
import { mcpMiddleware } from "../../../src/langchain/index.js";
import {
  McpServerManager,
  type PublishedServer,
  publishServer,
  registryServers,
  type RegistryServersOptions,
  withdrawServer,
} from "../../../src/manager/index.js";
import { dynamoStore, type KeyValueStore, memoryStore, redisStore } from "../../../src/stores/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { deferred, eventually } from "../../fixtures/clients.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { DynamoServer } from "../../fixtures/dynamo-server.js";
import { LambdaEndpoint, stubAwsEnvironment } from "../../fixtures/lambda-endpoint.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { HAS_REDIS, RedisServer } from "../../fixtures/redis-server.js";

const run = promisify(execFile);
const FORECAST = { name: "forecast", run: () => "rain" };
/** A start waits for the servers of the registry, also on a slow machine. */
const PATIENT = { startupWaitMs: 10_000 };
const names = ({ tools }: McpToolset) => tools.map(({ name }) => name);
const untilTools = (mcp: McpToolset, ...expected: string[]) =>
  eventually(() => names(mcp).join() === expected.join());

/** A shared store, and how the command line names it in another process. */
interface SharedStore extends AsyncDisposable {
  readonly store: KeyValueStore;
  readonly location: string;
  readonly env: Readonly<Record<string, string>>;
}

async function startRedis(): Promise<SharedStore> {
  const server = await RedisServer.start();
  const store = redisStore(server.url);
  return disposeWith({ store, location: server.url, env: {} }, store, server);
}

async function startDynamo(): Promise<SharedStore> {
  const server = await DynamoServer.start();
  await server.createTable("mcp");
  const store = dynamoStore("mcp", { client: server.client as never });
  const env = {
    AWS_ENDPOINT_URL_DYNAMODB: server.endpoint,
    AWS_REGION: "local",
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
  };
  return disposeWith({ store, location: "dynamodb:mcp", env }, store, server);
}

/** Runs the command line in a process of its own. */
async function runCommand({ location, env }: SharedStore, ...args: readonly string[]): Promise<string> {
  const { execArgv, path } = getChildScript("src/cli/main");
  const command = [...execArgv, path, ...args, "--store", location];
  return (await run(process.execPath, command, { env: { ...process.env, ...env } })).stdout;
}

/** A toolset with a registry in memory, and what it has logged. */
async function startRegistry(
  options: Partial<RegistryServersOptions> & { readonly allow: readonly string[] },
) {
  const store = memoryStore();
  const logger = new RecordingLogger();
  const registry = registryServers(store, { refreshIntervalMs: 20, ...options });
  const mcp: McpToolset = await createMcpTools({}, { registry, logger });
  return disposeWith({ store, logger, mcp }, mcp, store);
}

/** Waits for several health checks of a server, and so for as many of the others. */
async function nextHealthChecks(server: McpTestServer): Promise<void> {
  const checks = server.received("tools/list").length;
  await eventually(() => server.received("tools/list").length > checks + 3);
}

describe("a server registry", () => {
  it.each([
    ...(HAS_REDIS ? [["Redis, which reports changes", startRedis, 3_600_000] as const] : []),
    ["DynamoDB, which is polled", startDynamo, 50] as const,
  ])(
    "in %s adds a server that another process publishes to a running agent, and removes it again",
    { timeout: 60_000 },
    async (_, startStore, refreshIntervalMs) => {
      await using shared = await startStore();
      await using server = await startMcpTestServer({ tools: [FORECAST] });
      const { origin } = new URL(server.url);
      const registry = registryServers(shared.store, { allow: [origin], refreshIntervalMs });
      await using mcp: McpToolset = await createMcpTools({}, { registry });
      const model = fakeModel()
        .respond(new AIMessage("I have no tools."))
        .respondWithTools([{ name: "weather__forecast", args: {} }])
        .respond(new AIMessage("It rains."))
        .respondWithTools([{ name: "weather__forecast", args: {} }])
        .respond(new AIMessage("I no longer know."));
      const agent = createAgent({ model, tools: mcp.tools, middleware: [mcpMiddleware(mcp)] });
      const ask = async () =>
        (await agent.invoke({ messages: "How is the weather?" })).messages.slice(1).map(({ text }) => text);
      expect(await ask()).toEqual(["I have no tools."]);

      expect(await runCommand(shared, "publish", "weather", server.url)).toBe("✓ weather is published.\n");
      await untilTools(mcp, "weather__forecast");
      expect((await ask()).slice(-2)).toEqual(["rain", "It rains."]);

      expect(await runCommand(shared, "withdraw", "weather")).toBe("✓ weather is withdrawn.\n");
      await untilTools(mcp);
      expect(mcp.servers.configured).toEqual([]);
      expect((await ask()).slice(-2)).toEqual([
        'The tool "weather__forecast" no longer exists and was not called. Continue without it.',
        "I no longer know.",
      ]);
      expect(server.executions).toHaveLength(1);
    },
  );

  it("cannot withdraw an invalid name", async () => {
    await using store = memoryStore();
    const error = { kind: "invalid-config", issues: [{ path: "name" }] };
    await expect(withdrawServer(store, "../x")).rejects.toMatchObject(error);
  });

  it("is read at the start: its servers are there when the toolset is", async () => {
    await using store = memoryStore();
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await publishServer(store, { name: "weather", url: new URL(server.url), timeouts: { connectMs: 5_000 } });
    const registry = registryServers(store, { allow: [new URL(server.url).origin] });
    await using mcp: McpToolset = await createMcpTools({}, { registry, ...PATIENT });
    expect(names(mcp)).toEqual(["weather__forecast"]);
    expect(mcp.status()["weather"]?.provenance).toEqual({ source: "lookup", provider: "registry" });
    await using manager = new McpServerManager();
    await registry.attach(manager);
    await manager.waitFor("weather");
    expect(manager.connected).toEqual(["weather"]);
  });

  it("calls a Lambda function whose ARN is allowed, in the region of the ARN", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await using endpoint = await LambdaEndpoint.serve(server);
    stubAwsEnvironment();
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", endpoint.url);
    const arn = "arn:aws:lambda:eu-west-3:123456789012:function:weather";
    await using setup = await startRegistry({ allow: [arn] });
    await publishServer(setup.store, { name: "other", functionName: `${arn}-2` });
    await publishServer(setup.store, { name: "weather", functionName: arn });
    await untilTools(setup.mcp, "weather__forecast");
    const [first] = endpoint.invocations;
    expect(new Set(endpoint.invocations.map(({ functionName }) => functionName))).toEqual(new Set([arn]));
    expect(first?.headers.authorization).toContain("/eu-west-3/lambda/");
  });

  it("sends the operator's credentials to their origin only", async () => {
    await using first = await startMcpTestServer({ tools: [FORECAST] });
    await using second = await startMcpTestServer({ tools: [FORECAST] });
    const allow = [new URL(first.url).origin, new URL(second.url).origin];
    const credentials = { [String(allow[0])]: { headers: { "x-key": "k-1" } } };
    await using setup = await startRegistry({ allow, credentials });
    await publishServer(setup.store, { name: "first", url: first.url });
    await publishServer(setup.store, { name: "second", url: second.url });
    await untilTools(setup.mcp, "first__forecast", "second__forecast");
    expect(new Set(first.requests.map(({ headers }) => headers["x-key"]))).toEqual(new Set(["k-1"]));
    expect(new Set(second.requests.map(({ headers }) => headers["x-key"]))).toEqual(new Set([undefined]));
  });

  it("ignores servers that are not allowed, invalid or of the application, and logs each once", async () => {
    await using allowed = await startMcpTestServer({ tools: [FORECAST] });
    await using other = await startMcpTestServer({ tools: [FORECAST] });
    const { origin } = new URL(allowed.url);
    await using store = memoryStore();
    await publishServer(store, { name: "other", url: other.url });
    await publishServer(store, { name: "own", url: allowed.url });
    await publishServer(store, { name: "weather", url: allowed.url });
    const write = (name: string, record: object) => store.set(`servers/1/${name}`, { name, ...record });
    await write("command", { command: "touch", args: ["/tmp/never"] });
    await write("headers", { url: allowed.url, headers: { authorization: "Bearer canary" } });
    await write("user", { url: allowed.url.replace("//", "//root@") });
    await store.set("servers/1/renamed", { name: "weather", url: allowed.url });
    const logger = new RecordingLogger();
    const registry = registryServers(store, { allow: [origin], refreshIntervalMs: 10 });
    await using mcp: McpToolset = await createMcpTools(
      { own: { url: other.url } },
      { registry, logger, ...PATIENT },
    );
    expect(names(mcp)).toEqual(["own__forecast", "weather__forecast"]);
    const requestsBefore = other.received("tools/list").length;
    // The registry is read and checked several times.
    await eventually(() => allowed.received("tools/list").length > 3);
    expect(other.received("tools/list").length).toBe(requestsBefore);
    const ignored = logger.warnings.filter((text) => text.includes("of the registry is ignored"));
    expect(ignored.toSorted()).toEqual([
      expect.stringMatching(/^Server "command" .* unknown key "command".* valid keys: name, url, /s),
      expect.stringMatching(/^Server "headers" .*Credentials are set where they are used/s),
      `Server "other" of the registry is ignored. Its address ${new URL(other.url).origin} is not in allow.`,
      'Server "own" of the registry is ignored. The application has a server with this name.',
      'Server "renamed" of the registry is ignored. It was written for another name.',
      expect.stringMatching(/^Server "user" .* has a user or password/s),
    ]);
    expect(logger.messages.join()).not.toContain("canary");
  });

  it("replaces a server that is published with another address", async () => {
    await using first = await startMcpTestServer({ tools: [FORECAST] });
    await using second = await startMcpTestServer({ tools: [{ name: "tides", run: () => "high" }] });
    await using setup = await startRegistry({
      allow: [new URL(first.url).origin, new URL(second.url).origin],
    });
    await publishServer(setup.store, { name: "weather", url: first.url });
    await untilTools(setup.mcp, "weather__forecast");
    await publishServer(setup.store, { name: "weather", url: second.url });
    await untilTools(setup.mcp, "weather__tides");
    await eventually(() => first.openSessions.length === 0);
  });

  it("leaves a server out after failed health checks, and includes it again", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await using setup = await startRegistry({ allow: [new URL(server.url).origin], unhealthyAfter: 2 });
    const { mcp, store, logger } = setup;
    await publishServer(store, { name: "weather", url: server.url });
    await untilTools(mcp, "weather__forecast");
    await server.stop();
    await untilTools(mcp);
    expect(mcp.status()["weather"]?.state).toBe("disconnected");
    expect(logger.warnings.filter((text) => text.includes("is left out"))).toEqual([
      expect.stringContaining(
        'Server "weather" of the registry is left out until it responds: 2 health checks',
      ),
    ]);
    await server.start();
    await untilTools(mcp, "weather__forecast");
    expect((await mcp.callTool({ name: "forecast" })).text()).toBe("rain");
  });

  it("does not reconnect a server that the application has disconnected", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await using setup = await startRegistry({ allow: [new URL(server.url).origin] });
    await publishServer(setup.store, { name: "weather", url: server.url });
    await publishServer(setup.store, { name: "second", url: server.url });
    await untilTools(setup.mcp, "second__forecast", "weather__forecast");
    await setup.mcp.servers.disconnect("weather");
    const checks = server.received("tools/list").length;
    await eventually(() => server.received("tools/list").length > checks + 3);
    expect(names(setup.mcp)).toEqual(["second__forecast"]);
  });

  it("does not reconnect a server that the application disconnects during a health check", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await using other = await startMcpTestServer({ tools: [FORECAST] });
    const allow = [server, other].map(({ url }) => new URL(url).origin);
    await using setup = await startRegistry({ allow, unhealthyAfter: 1 });
    await publishServer(setup.store, { name: "weather", url: server.url });
    await publishServer(setup.store, { name: "second", url: other.url });
    await untilTools(setup.mcp, "second__forecast", "weather__forecast");
    const undo = server.addFault({ type: "hang" }, { method: "tools/list" });
    const checks = server.received("tools/list").length;
    await eventually(() => server.received("tools/list").length > checks);
    await setup.mcp.servers.disconnect("weather");
    undo();
    await nextHealthChecks(other);
    expect(setup.mcp.status()["weather"]?.state).toBe("disconnected");
    expect(setup.logger.warnings.filter((text) => text.includes("is left out"))).toEqual([]);
  });

  it("does not include a server again that the application has disconnected, too", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await using other = await startMcpTestServer({ tools: [FORECAST] });
    const allow = [server, other].map(({ url }) => new URL(url).origin);
    await using setup = await startRegistry({ allow, unhealthyAfter: 1 });
    await publishServer(setup.store, { name: "weather", url: server.url });
    await publishServer(setup.store, { name: "second", url: other.url });
    await untilTools(setup.mcp, "second__forecast", "weather__forecast");
    await server.stop();
    await untilTools(setup.mcp, "second__forecast");
    await setup.mcp.servers.disconnect("weather");
    await server.start();
    await nextHealthChecks(other);
    expect(setup.mcp.status()["weather"]?.state).toBe("disconnected");
  });

  it.skipIf(!HAS_REDIS)("keeps its servers while the store cannot be read", async () => {
    await using redis = await RedisServer.start();
    await using store = redisStore(redis.url, { timeoutMs: 200 });
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    await publishServer(store, { name: "weather", url: server.url });
    const logger = new RecordingLogger();
    const registry = registryServers(store, { allow: [new URL(server.url).origin], refreshIntervalMs: 20 });
    await using mcp: McpToolset = await createMcpTools({}, { registry, logger, ...PATIENT });
    await redis.kill();
    const isReported = (text: string) => text.startsWith("The server registry could not be read");
    await eventually(() => logger.warnings.some(isReported));
    expect(names(mcp)).toEqual(["weather__forecast"]);
    // Redis starts without data, as if all servers were withdrawn.
    await redis.start();
    await untilTools(mcp);
  });

  it("is no longer read when the manager is closed", async () => {
    await using memory = memoryStore();
    let reads = 0;
    let unwatched = 0;
    const store: KeyValueStore = {
      get: (key) => memory.get(key),
      set: (key, value) => memory.set(key, value),
      delete: (key) => memory.delete(key),
      list: (prefix) => {
        reads += 1;
        return memory.list(prefix);
      },
      watch: async () => async () => {
        unwatched += 1;
      },
      close: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
    const registry = registryServers(store, { allow: ["https://tools.example.com"] });
    const clock = new FakeClock();
    const manager = new McpServerManager({}, { clock });
    await registry.attach(manager);
    expect([reads, clock.hasTimerIn(60_000)]).toEqual([1, true]);
    clock.advance(60_000);
    await eventually(() => clock.hasTimerIn(60_000));
    await manager.close();
    expect([reads, unwatched, clock.pending]).toEqual([2, 1, 0]);
    await expect(registry.attach(manager)).rejects.toMatchObject({ kind: "closed" });
  });

  it("cannot switch off or raise the timeouts of calls to its servers", async () => {
    const started = deferred();
    const hang: TestTool = {
      name: "hang",
      run: (_, { signal }) => {
        started.resolve();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve("")));
      },
    };
    await using server = await startMcpTestServer({ tools: [hang] });
    await using store = memoryStore();
    const timeouts = { connectMs: 5_000, requestMs: 0, totalMs: 0, taskMs: 3_600_001 };
    await store.set("servers/1/weather", { name: "weather", url: server.url, timeouts });
    const clock = new FakeClock();
    const logger = new RecordingLogger();
    await using manager = new McpServerManager({}, { clock, logger });
    await registryServers(store, { allow: [new URL(server.url).origin] }).attach(manager);
    await manager.waitFor("weather");
    const call = manager.serverSet.get("weather").client.callTool({ name: "hang" });
    const failure = expect(call).rejects.toMatchObject({ kind: "timeout" });
    await started.promise;
    clock.advance(600_000);
    await failure;
    // The registry was read again, and the warning is not repeated.
    await eventually(() => clock.hasTimerIn(60_000));
    expect(logger.warnings).toEqual([
      'Server "weather" of the registry is used with timeouts.requestMs: 600000, timeouts.totalMs: 600000, timeouts.taskMs: 3600000, because a registry can only shorten timeouts.',
    ]);
  });

  it.each<[string, object, string]>([
    ["no option", {}, "allow"],
    ["an empty list", { allow: [] }, "allow"],
    ["an address with a path", { allow: ["https://tools.example.com/mcp"] }, "allow[0]"],
    ["a wildcard", { allow: ["https://*.example.com/"] }, "allow[0]"],
    ["a command", { allow: ["https://a.example.com", "npx"] }, "allow[1]"],
    [
      "credentials of an origin that is not allowed",
      { allow: ["https://a.example.com"], credentials: { "https://b.example.com": {} } },
      'credentials["https://b.example.com"]',
    ],
    ["an unknown option", { allow: ["https://a.example.com"], refreshMs: 5 }, ""],
  ])("rejects %s", async (_, options, path) => {
    await using store = memoryStore();
    const error = catchConfigError(() => registryServers(store, options as RegistryServersOptions));
    expect(error.issues.map((issue) => issue.path)).toEqual([path]);
  });

  it.each<[string, object, string]>([
    ["a command", { name: "x", command: "npx" }, "Credentials are set where they are used"],
    ["headers", { name: "x", url: "https://a.example.com", headers: {} }, 'unknown key "headers"'],
    ["a password", { name: "x", url: "https://u:canary@a.example.com" }, "url: has a user or password"],
    ["no address", { name: "x" }, "expected either url or functionName"],
    ["a file", { name: "x", url: "file:///etc" }, "url"],
    ["a function without its ARN", { name: "x", functionName: "mcp" }, "the ARN of a Lambda function"],
    [
      "a timeout above the default",
      { name: "x", url: "https://a.example.com", timeouts: { totalMs: 600_001 } },
      "timeouts.totalMs: is longer than 600000 or 0 (no limit)",
    ],
    [
      "no timeout",
      { name: "x", url: "https://a.example.com", timeouts: { requestMs: 0 } },
      "timeouts.requestMs: is longer than 600000 or 0 (no limit)",
    ],
    ["an invalid name", { name: "../x", url: "https://a.example.com" }, "name: expected letters"],
  ])("cannot publish %s", async (_, server, text) => {
    await using store = memoryStore();
    const error: unknown = await publishServer(store, server as PublishedServer).catch((reason) => reason);
    expect(error).toMatchObject({ kind: "invalid-config", message: expect.stringContaining(text) });
    expect(String(error)).not.toContain("canary");
    expect(await store.list("")).toEqual([]);
  });
});

describe("a server that the application has put in the place of one of the registry", () => {
  it("stays when that one is withdrawn", async () => {
    await using published = await startMcpTestServer({ tools: [FORECAST] });
    await using own = await startMcpTestServer({ tools: [{ name: "own", run: () => "" }] });
    const store = memoryStore();
    await publishServer(store, { name: "weather", url: published.url });
    const logger = new RecordingLogger();
    await using manager = new McpServerManager({}, { logger });
    const allow = [new URL(published.url).origin];
    await registryServers(store, { allow, refreshIntervalMs: 20 }).attach(manager);
    await eventually(() => manager.connected.includes("weather"));
    await manager.remove("weather");
    await manager.add("weather", { url: own.url });
    await withdrawServer(store, "weather");
    await publishServer(store, { name: "weather", url: published.url });
    await eventually(() =>
      logger.warnings.some((text) => text.includes("The application has a server with this name")),
    );
    expect(manager.toolsOf("weather")?.map(({ name }) => name)).toEqual(["own"]);
  });
});
