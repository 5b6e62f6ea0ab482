import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { INITIALIZE_RESULT, sendError, sendJson, startRawServer } from "../../fixtures/raw-server.js";

const USERS = ["alice", "bob", "carol"] as const;
const userOf = ({ configurable }: CallContext) => String(configurable["user"] ?? "");
const as = (user: string, more: object = {}) => ({ context: { configurable: { user, ...more } } });

/** Returns the credential of the request. */
const WHO: TestTool = {
  name: "who",
  inputSchema: { type: "object", properties: { user: { type: "string" } } },
  run: (_args, { headers }) => String(headers["authorization"]),
};

const TENANTS = {
  identity: userOf,
  auth: (context: CallContext) => `token-of-${userOf(context)}-${String(context.configurable["turn"] ?? 1)}`,
};

function tokensOf(server: McpTestServer, sessionId: string | undefined): Set<unknown> {
  const ofSession = server.requests.filter(({ headers }) => headers["mcp-session-id"] === sessionId);
  return new Set(ofSession.map(({ headers }) => headers["authorization"]));
}

describe("a server with per-user credentials", () => {
  it("receives each of 1,000 interleaved calls with the credential of its caller", async () => {
    await using server = await startMcpTestServer({ tools: [WHO], responseFormat: "json" });
    await using client = createTestClient(server, { ...TENANTS, circuitBreaker: {} });
    const results = await Promise.all(
      times(1_000, async (n) => {
        const user = USERS[n % 3] ?? "";
        const result = await client.callTool({ name: "who", args: { user } }, as(user));
        return [user, result.text()];
      }),
    );
    expect(results.every(([user, seen]) => seen === `Bearer token-of-${user}-1`)).toBe(true);
    expect(server.executions).toHaveLength(1_000);
    for (const { args, headers } of server.executions)
      expect(headers["authorization"]).toBe(`Bearer token-of-${String(args["user"])}-1`);
    expect(server.received("initialize")).toHaveLength(3);
    for (const id of server.openSessions) expect(tokensOf(server, id).size).toBe(1);
  });

  it.each(ERAS)("receives calls of a toolset with the credential of each call's config (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const identity = (context: CallContext) =>
      context.purpose === "discovery" && userOf(context) === "" ? "catalog" : userOf(context);
    const headers = (context: CallContext) => ({ authorization: `Bearer of-${identity(context)}` });
    await using mcp = await createMcpTools({ crm: { url: server.url, headers, identity } });
    const [who] = mcp.tools;
    const results = await Promise.all(
      times(30, async (n) => who?.invoke({}, { configurable: { user: USERS[n % 3] } })),
    );
    expect(results).toEqual(times(30, (n) => `Bearer of-${USERS[n % 3] ?? ""}`));
    const direct = await mcp.callTool({ name: "who" }, { config: { configurable: { user: "bob" } } });
    expect(direct.text()).toBe("Bearer of-bob");
  });

  it.each(ERAS)("lists its tools with the credential of the caller (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const identity = (context: CallContext) => userOf(context) || "catalog";
    await using mcp = await createMcpTools({
      crm: { url: server.url, identity, auth: (context) => `of-${identity(context)}` },
    });
    server.tools = [WHO, { name: "secret_plans", run: () => "…" }];
    const tools = await mcp.toolsFor({ configurable: { user: "alice" } });
    expect(tools.map(({ name }) => name)).toEqual(["crm__secret_plans", "crm__who"]);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["crm__who"]);
    const listings = server.received("tools/list").map(({ headers }) => headers["authorization"]);
    expect(listings).toEqual(["Bearer of-catalog", "Bearer of-alice"]);
  });

  it.each(ERAS)("receives a rotated token with the next request in the same session (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    await using client = createTestClient(server, TENANTS);
    for (const turn of [1, 2, 3]) {
      const seen = await client.callTool({ name: "who" }, as("alice", { turn }));
      expect(seen.text()).toBe(`Bearer token-of-alice-${turn}`);
    }
    expect(server.received("initialize")).toHaveLength(1);
    await client.close();
    // The session is terminated with the newest token; the modern era has no sessions to terminate.
    const terminations = server.received("DELETE").map(({ headers }) => headers["authorization"]);
    expect(terminations).toEqual(era === "modern" ? [] : ["Bearer token-of-alice-3"]);
  });

  it("recovers the session of one user and keeps those of the others", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = createTestClient(server, TENANTS);
    await Promise.all(USERS.map((user) => client.callTool({ name: "who" }, as(user))));
    const before = new Map(client.sessions().map(({ identity, id }) => [identity, id]));
    server.addFault({ type: "status", status: 404 }, { method: "tools/call", times: 1 });
    expect((await client.callTool({ name: "who" }, as("bob"))).text()).toBe("Bearer token-of-bob-1");
    const after = new Map(client.sessions().map(({ identity, id }) => [identity, id]));
    expect(after.get("bob")).not.toBe(before.get("bob"));
    expect(after.get("alice")).toBe(before.get("alice"));
    expect(after.get("carol")).toBe(before.get("carol"));
    const handshakes = server.received("initialize").map(({ headers }) => headers["authorization"]);
    expect(handshakes.at(-1)).toBe("Bearer token-of-bob-1");
  });

  it.each(ERAS)("opens the circuit only for the user whose calls fail (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO], responseFormat: "json" });
    await using client = createTestClient(server, { ...TENANTS, circuitBreaker: { failureThreshold: 1 } });
    await Promise.all(USERS.map((user) => client.callTool({ name: "who" }, as(user))));
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
    await rejection(client.callTool({ name: "who" }, as("bob")));
    expect(await rejection(client.callTool({ name: "who" }, as("bob")))).toMatchObject({
      kind: "circuit-open",
    });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer token-of-alice-1");
    expect(client.getBreaker("bob")?.stats().state).toBe("open");
    expect(client.getBreaker("alice")?.stats().state).toBe("closed");
  });

  it.each(ERAS)("receives the headers of a call only with that call (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const headers = ({ purpose, toolCallId }: CallContext) =>
      purpose === "call" ? { "x-call": String(toolCallId) } : {};
    await using client = createTestClient(server, { identity: userOf, headers });
    client.on("notification", () => undefined);
    await Promise.all(
      times(20, (n) =>
        client.callTool(
          { name: "who", id: `call-${n}` },
          { ...as("alice"), headers: { "x-own": `own-${n}` } },
        ),
      ),
    );
    await server.waitForListener();
    await client.close();
    const others = server.requests.filter(({ method }) => method !== "tools/call");
    expect(others.length).toBeGreaterThanOrEqual(3);
    for (const { headers: sent } of others) {
      expect(sent["x-call"]).toBeUndefined();
      expect(sent["x-own"]).toBeUndefined();
    }
    const calls = server.received("tools/call").map(({ headers: sent }) => [sent["x-call"], sent["x-own"]]);
    expect(new Map(calls as [string, string][])).toEqual(
      new Map(times(20, (n) => [`call-${n}`, `own-${n}`])),
    );
  });
});

describe("the identity", () => {
  it.each([
    ["an empty string", () => ""],
    ["undefined", () => undefined as never],
    ["a promise", () => Promise.resolve("alice") as never],
    [
      "an error",
      () => {
        throw new Error("no user in this request");
      },
    ],
  ])("is never guessed: nothing is sent for %s", async (_what, identity) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { identity, auth: () => "token" });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "unauthorized",
      attempts: 0,
      message: expect.stringContaining("identity(context)"),
    });
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["headers", { headers: () => ({}) }],
    ["auth", { auth: () => "token" }],
  ])("is required when %s depends on it", (name, definition) => {
    expect(() => new McpClient({ name: "crm", url: "http://x.test", ...definition })).toThrow(
      expect.objectContaining({
        kind: "invalid-config",
        issues: [{ path: "identity", message: expect.stringContaining(name) }],
      }),
    );
  });

  it("cannot be combined with a pinned session", () => {
    const definition = { url: "http://x.test", identity: userOf, session: { id: "s-1" } };
    expect(() => new McpClient({ name: "crm", ...definition })).toThrow(
      expect.objectContaining({
        kind: "invalid-config",
        issues: [{ path: "session.id", message: expect.stringContaining("identities") }],
      }),
    );
  });

  it("belongs next to resolve, because it is needed before the server is resolved", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = new McpClient({
      name: "crm",
      identity: userOf,
      resolve: () => ({ url: server.url, auth: TENANTS.auth }),
    });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer token-of-alice-1");
    await using late = new McpClient({ name: "crm", resolve: () => ({ url: server.url, ...TENANTS }) });
    expect(await rejection(late.callTool({ name: "who" }, as("alice")))).toMatchObject({
      kind: "invalid-config",
    });
  });
});

describe("a credential that is not available", () => {
  it.each([
    ["an empty token", { auth: () => " " }, { message: expect.stringContaining("no token") }],
    [
      "a function that throws",
      {
        auth: () => {
          throw new Error("vault is sealed");
        },
      },
      { cause: { message: "vault is sealed" } },
    ],
    [
      "headers that throw",
      { headers: () => Promise.reject(new Error("vault is sealed")) },
      { cause: { message: "vault is sealed" } },
    ],
  ])("is reported, and nothing is sent: %s", async (_what, definition, expected) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { identity: userOf, ...definition });
    const failure = await rejection(client.callTool(echo(), as("alice")));
    expect(failure).toMatchObject({ kind: "unauthorized", outcomeUnknown: false, ...expected });
    expect(server.requests).toEqual([]);
  });

  it.each<[what: string, definition: object, name: string, issue: object]>([
    [
      "a header that cannot be sent",
      { headers: () => ({ "x-a": "line\nbreak" }) },
      "headers",
      { path: "x-a" },
    ],
    ["a header that is not a string", { headers: () => ({ "x-a": 5 }) }, "headers", { path: "x-a" }],
    ["headers that are null", { headers: () => null }, "headers", { path: "" }],
    ["an unknown grant", { auth: () => ({ grant: "password" }) }, "auth", { path: "grant" }],
    [
      "a grant without a JWT",
      { auth: () => ({ grant: "jwt-bearer", issuer: "https://login.test" }) },
      "auth",
      { path: "assertion" },
    ],
    ["an object without tokens", { auth: () => ({}) }, "auth", { path: "" }],
  ])("is a configuration error: %s", async (_what, definition, name, issue) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server, { identity: userOf, ...definition });
    const failure = await rejection(client.callTool(echo(), as("alice")));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "test", issues: [issue] });
    expect(failure.message).toContain(`function ${name} `);
    expect(server.requests).toEqual([]);
  });

  it("a token that the server rejects is requested once more", async () => {
    await using server = await startMcpTestServer({ tools: [WHO], responseFormat: "json" });
    const auth = () => (server.received("tools/call").length < 2 ? "secret-1" : "secret-2");
    await using client = createTestClient(server, { identity: userOf, auth });
    await client.callTool({ name: "who" }, as("alice"));
    server.addFault({ type: "status", status: 401 }, { method: "tools/call", times: 1 });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer secret-2");
    server.addFault({ type: "status", status: 401 }, { method: "tools/call" });
    const failure = await rejection(client.callTool({ name: "who" }, as("alice")));
    expect(failure).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(JSON.stringify(failure)).not.toContain("secret-");
    expect(server.executions).toHaveLength(2);
  });

  it("does not block a call whose signal is aborted", async () => {
    await using server = await startMcpTestServer();
    const { promise, resolve } = deferred();
    await using client = createTestClient(server, {
      identity: userOf,
      headers: async () => promise.then(() => ({})),
    });
    const controller = new AbortController();
    const call = client.callTool(echo(), { ...as("alice"), signal: controller.signal });
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await rejection(call)).toBe(reason);
    await client.close();
    resolve();
    expect(server.received("tools/call")).toEqual([]);
  });
});

describe("more users than the limit", () => {
  it("evict the identity that was idle longest and terminate its session", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = createTestClient(server, { ...TENANTS, limits: { identities: 2 } });
    for (const user of ["alice", "bob", "alice", "carol"]) await client.callTool({ name: "who" }, as(user));
    expect(client.sessions().map(({ identity }) => identity)).toEqual(["alice", "carol"]);
    await eventually(() => server.received("DELETE").length === 1);
    expect(server.received("DELETE")[0]?.headers["authorization"]).toBe("Bearer token-of-bob-1");
    expect((await client.callTool({ name: "who" }, as("bob"))).text()).toBe("Bearer token-of-bob-1");
    await client.close();
    await eventually(() => server.openSessions.length === 0);
  });

  it("do not evict an identity with a running call", async () => {
    const { promise, resolve } = deferred();
    const slow: TestTool = { name: "slow", run: async () => promise.then(() => "done") };
    await using server = await startMcpTestServer({ tools: [slow, WHO] });
    await using client = createTestClient(server, { ...TENANTS, limits: { identities: 1 } });
    const busy = client.callTool({ name: "slow" }, as("alice"));
    await server.waitFor("tools/call");
    for (const user of ["bob", "carol"]) await client.callTool({ name: "who" }, as(user));
    expect(client.sessions().map(({ identity }) => identity)).toEqual(["alice", "carol"]);
    resolve();
    expect((await busy).text()).toBe("done");
  });

  it("has a name and capabilities of its own for each user, and without a user those of discovery", async () => {
    const start = (answersDiscovery: boolean) =>
      startRawServer(({ method, id, request, response }) => {
        if (method !== "initialize") return false;
        const user = String(request.headers.authorization);
        if (user === "catalog" && !answersDiscovery) return void response.writeHead(403).end();
        const result = {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, experimental: { [user]: {} } },
          serverInfo: { name: `raw of ${user}`, version: "1" },
        };
        return sendJson(response, id, result);
      });
    const identity = (context: CallContext) => userOf(context) || "catalog";
    const definition = {
      identity,
      headers: (context: CallContext) => ({ authorization: identity(context) }),
    };
    await using server = await start(true);
    await using client = createTestClient(server.url, definition);
    await client.ping();
    for (const user of USERS) await client.callTool(echo(), as(user));
    const metadata = (options?: ReturnType<typeof as>) => [
      client.getServerInfo(options)?.name,
      client.getCapabilities(options)?.["experimental"],
    ];
    for (const user of USERS) expect(metadata(as(user))).toEqual([`raw of ${user}`, { [user]: {} }]);
    expect([client.serverInfo?.name, client.capabilities?.["experimental"]]).toEqual(metadata());
    expect(metadata()).toEqual(["raw of catalog", { catalog: {} }]);
    await using other = await start(false);
    await using rejected = createTestClient(other.url, definition);
    await rejected.callTool(echo(), as("alice"));
    expect([rejected.serverInfo, rejected.capabilities]).toEqual([undefined, undefined]);
  });

  it("cannot list the tools of one user because it has none for another", async () => {
    const callAsAlice = deferred();
    const called = deferred();
    await using server = await startRawServer((raw) => {
      const { method, id, request, response } = raw;
      const user = String(request.headers.authorization);
      const capabilities = user === "alice" ? {} : { tools: {} };
      if (method === "initialize") return sendJson(response, id, { ...INITIALIZE_RESULT, capabilities });
      if (method !== "tools/list") return false;
      callAsAlice.resolve();
      const error = { code: -32_601, message: "Method not found" };
      return void called.promise.then(() => sendError(raw, error));
    });
    const headers = (context: CallContext) => ({ authorization: userOf(context) });
    await using client = createTestClient(server.url, { identity: userOf, headers });
    const listed = rejection(client.listTools(as("bob")));
    await callAsAlice.promise;
    await client.callTool(echo(), as("alice"));
    called.resolve();
    expect((await listed).kind).toBe("not-found");
    expect(await client.listTools(as("alice"))).toEqual([]);
  });

  it("has a session id and instructions of its own for each user, and none without a user", async () => {
    await using server = await startRawServer(({ method, id, request, response }) => {
      if (method !== "initialize") return false;
      const user = String(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": `of ${user}` });
      const result = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" },
        instructions: `for ${user}`,
      };
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await using client = createTestClient(server.url, {
      identity: userOf,
      headers: ({ configurable }: CallContext) => ({ authorization: String(configurable["user"]) }),
    });
    for (const user of USERS) await client.callTool(echo(), as(user));
    expect(USERS.map((user) => client.getInstructions(as(user)))).toEqual(USERS.map((user) => `for ${user}`));
    expect([client.sessionId, client.instructions]).toEqual([undefined, undefined]);
  });

  it("has instructions of its own in a toolset, also if another user has called last", async () => {
    await using server = await startRawServer(({ method, id, request, response }) => {
      if (method !== "initialize" && method !== "tools/list") return false;
      response.writeHead(200, { "content-type": "application/json" });
      const initialized = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" },
        instructions: `for ${String(request.headers.authorization)}`,
      };
      const listed = { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
      const result = method === "initialize" ? initialized : listed;
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    const getUser = ({ purpose, configurable }: CallContext) =>
      purpose === "discovery" ? "catalog" : String(configurable["user"]);
    const headers = ({ configurable }: CallContext) => ({
      authorization: String(configurable["user"] ?? "catalog"),
    });
    await using mcp = await createMcpTools({ s: { url: server.url, identity: getUser, headers } });
    const configs = USERS.map((user) => ({ configurable: { user } }));
    for (const config of configs) await mcp.callTool({ name: "echo", args: { text: "x" } }, { config });
    expect(configs.map((config) => mcp.instructions(config))).toEqual(
      USERS.map((user) => ({ s: `for ${user}` })),
    );
    expect(mcp.instructions()).toEqual({ s: "for catalog" });
    expect(mcp.instructions({ configurable: { user: "stranger" } })).toEqual({});
  });
});
