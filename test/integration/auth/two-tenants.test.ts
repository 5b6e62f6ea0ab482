import { describe, expect, it } from "vitest";
import { type CallContext, createMcpTools, McpClient } from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { clientOf, echo, eventually, failureOf, gate, times } from "../../fixtures/clients.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";

const USERS = ["alice", "bob", "carol"] as const;
const userOf = ({ configurable }: CallContext) => String(configurable["user"] ?? "");
const as = (user: string, more: object = {}) => ({ context: { configurable: { user, ...more } } });

/** Says who asked, by what the request proved. */
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

describe("a server with users of its own", () => {
  it("runs each of 1,000 interleaved calls under the credential of its caller", async () => {
    await using server = await startMcpTestServer({ tools: [WHO], responseFormat: "json" });
    await using client = clientOf(server, { ...TENANTS, circuitBreaker: {} });
    const answers = await Promise.all(
      times(1_000, async (n) => {
        const user = USERS[n % 3] ?? "";
        const result = await client.callTool({ name: "who", args: { user } }, as(user));
        return [user, result.text()];
      }),
    );
    expect(answers.every(([user, seen]) => seen === `Bearer token-of-${user}-1`)).toBe(true);
    expect(server.executions).toHaveLength(1_000);
    for (const { args, headers } of server.executions)
      expect(headers["authorization"]).toBe(`Bearer token-of-${String(args["user"])}-1`);
    expect(server.received("initialize")).toHaveLength(3);
    for (const id of server.openSessions) expect(tokensOf(server, id).size).toBe(1);
  });

  it.each(ERAS)("does the same for tools of a toolset, by the config of each call (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const identity = (context: CallContext) =>
      context.purpose === "discovery" && userOf(context) === "" ? "catalogue" : userOf(context);
    const headers = (context: CallContext) => ({ authorization: `Bearer of-${identity(context)}` });
    await using mcp = await createMcpTools({ crm: { url: server.url, headers, identity } });
    const [who] = mcp.tools;
    const answers = await Promise.all(
      times(30, async (n) => who?.invoke({}, { configurable: { user: USERS[n % 3] } })),
    );
    expect(answers).toEqual(times(30, (n) => `Bearer of-${USERS[n % 3] ?? ""}`));
    const direct = await mcp.callTool({ name: "who" }, { config: { configurable: { user: "bob" } } });
    expect(direct.text()).toBe("Bearer of-bob");
  });

  it.each(ERAS)("is listed as whoever asks (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const identity = (context: CallContext) => userOf(context) || "catalogue";
    await using mcp = await createMcpTools({
      crm: { url: server.url, identity, auth: (context) => `of-${identity(context)}` },
    });
    server.tools = [WHO, { name: "secret_plans", run: () => "…" }];
    const tools = await mcp.toolsFor({ configurable: { user: "alice" } });
    expect(tools.map(({ name }) => name)).toEqual(["crm__secret_plans", "crm__who"]);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["crm__who"]);
    const listings = server.received("tools/list").map(({ headers }) => headers["authorization"]);
    expect(listings).toEqual(["Bearer of-catalogue", "Bearer of-alice"]);
  });

  it.each(ERAS)("takes a rotated token with the next request, in the same session (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    await using client = clientOf(server, TENANTS);
    for (const turn of [1, 2, 3]) {
      const seen = await client.callTool({ name: "who" }, as("alice", { turn }));
      expect(seen.text()).toBe(`Bearer token-of-alice-${turn}`);
    }
    expect(server.received("initialize")).toHaveLength(1);
    await client.close();
    // The goodbye, too, goes with the newest, where there is one to say.
    const goodbyes = server.received("DELETE").map(({ headers }) => headers["authorization"]);
    expect(goodbyes).toEqual(era === "modern" ? [] : ["Bearer token-of-alice-3"]);
  });

  it("recovers one user's session and leaves the others'", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = clientOf(server, TENANTS);
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

  it.each(ERAS)("cuts off nobody but the one whose calls fail (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO], responseFormat: "json" });
    await using client = clientOf(server, { ...TENANTS, circuitBreaker: { failureThreshold: 2 } });
    await Promise.all(USERS.map((user) => client.callTool({ name: "who" }, as(user))));
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 2 });
    for (const _ of [1, 2]) await failureOf(client.callTool({ name: "who" }, as("bob")));
    expect(await failureOf(client.callTool({ name: "who" }, as("bob")))).toMatchObject({
      kind: "circuit-open",
    });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer token-of-alice-1");
    expect(client.getBreaker("bob")?.stats().state).toBe("open");
    expect(client.getBreaker("alice")?.stats().state).toBe("closed");
  });

  it.each(ERAS)("keeps what belongs to one call out of every other request (%s)", async (era) => {
    await using server = await startEraServer(era, { tools: [WHO] });
    const headers = ({ purpose, toolCallId }: CallContext) =>
      purpose === "call" ? { "x-call": String(toolCallId) } : {};
    await using client = clientOf(server, { identity: userOf, headers });
    client.on("notification", () => undefined);
    await Promise.all(
      times(20, (n) =>
        client.callTool(
          { name: "who", id: `call-${n}` },
          { ...as("alice"), headers: { "x-own": `own-${n}` } },
        ),
      ),
    );
    await server.listenedTo();
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

describe("who asks", () => {
  it.each([
    ["an empty text", () => ""],
    ["nothing", () => undefined as never],
    ["a promise", () => Promise.resolve("alice") as never],
    [
      "an error",
      () => {
        throw new Error("no user in this request");
      },
    ],
  ])("is never guessed: %s sends nothing", async (_what, identity) => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { identity, auth: () => "token" });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "unauthorized",
      attempts: 0,
      message: expect.stringContaining("identity(context)"),
    });
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["headers", { headers: () => ({}) }],
    ["auth", { auth: () => "token" }],
  ])("has to be said where %s depends on it", (name, definition) => {
    expect(() => new McpClient({ name: "crm", url: "http://x.test", ...definition })).toThrow(
      `identity: is needed, because ${name} depends on the caller`,
    );
  });

  it("cannot be several for one pinned session", () => {
    const definition = { url: "http://x.test", identity: userOf, session: { id: "s-1" } };
    expect(() => new McpClient({ name: "crm", ...definition })).toThrow(
      "session.id: one session cannot be pinned",
    );
  });

  it("is asked next to resolve, before the server is looked up", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = new McpClient({
      name: "crm",
      identity: userOf,
      resolve: () => ({ url: server.url, auth: TENANTS.auth }),
    });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer token-of-alice-1");
    await using late = new McpClient({ name: "crm", resolve: () => ({ url: server.url, ...TENANTS }) });
    expect(await failureOf(late.callTool({ name: "who" }, as("alice")))).toMatchObject({
      kind: "invalid-config",
    });
  });
});

describe("a credential that cannot be had", () => {
  it.each([
    ["an empty token", { auth: () => " " }, "gave no token"],
    [
      "a function that throws",
      {
        auth: () => {
          throw new Error("vault is sealed");
        },
      },
      "vault is sealed",
    ],
    [
      "headers that throw",
      { headers: () => Promise.reject(new Error("vault is sealed")) },
      "vault is sealed",
    ],
  ])("is told, and nothing is sent: %s", async (_what, definition, text) => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { identity: userOf, ...definition });
    const failure = await failureOf(client.callTool(echo(), as("alice")));
    expect(failure).toMatchObject({ kind: "unauthorized", outcomeUnknown: false });
    expect(failure.message).toContain(text);
    expect(server.requests).toEqual([]);
  });

  it.each<[what: string, definition: object, name: string, path: string, problem: string]>([
    [
      "a header that cannot be sent",
      { headers: () => ({ "x-a": "line\nbreak" }) },
      "headers",
      "x-a",
      "a header value has no line breaks or control characters",
    ],
    [
      "a header that is no text",
      { headers: () => ({ "x-a": 5 }) },
      "headers",
      "x-a",
      "expected a text, found a number",
    ],
    ["no headers", { headers: () => null }, "headers", "", "expected an object, found null"],
    [
      "a grant of a kind that there is none of",
      { auth: () => ({ grant: "password" }) },
      "auth",
      "grant",
      'expected one that has a grant of "jwt-bearer" or "enterprise-managed"',
    ],
    [
      "a grant without a JWT",
      { auth: () => ({ grant: "jwt-bearer", issuer: "https://login.test" }) },
      "auth",
      "assertion",
      "expected a JWT, or a function that gives one",
    ],
    [
      "what gives no tokens",
      { auth: () => ({}) },
      "auth",
      "",
      "expected a token, an OAuth provider or a grant, found an object",
    ],
  ])("is a mistake of the definition: %s", async (_what, definition, name, path, message) => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server, { identity: userOf, ...definition });
    const failure = await failureOf(client.callTool(echo(), as("alice")));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path, message }] });
    expect(failure.message).toMatch(
      new RegExp(`^What the function ${name} of server "[a-z]+" gave is not valid:\n`),
    );
    expect(server.requests).toEqual([]);
  });

  it("a token that the server no longer takes is asked for once more", async () => {
    await using server = await startMcpTestServer({ tools: [WHO], responseFormat: "json" });
    const auth = () => (server.received("tools/call").length < 2 ? "secret-1" : "secret-2");
    await using client = clientOf(server, { identity: userOf, auth });
    await client.callTool({ name: "who" }, as("alice"));
    server.addFault({ type: "status", status: 401 }, { method: "tools/call", times: 1 });
    expect((await client.callTool({ name: "who" }, as("alice"))).text()).toBe("Bearer secret-2");
    server.addFault({ type: "status", status: 401 }, { method: "tools/call" });
    const failure = await failureOf(client.callTool({ name: "who" }, as("alice")));
    expect(failure).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(JSON.stringify(failure)).not.toContain("secret-");
    expect(server.executions).toHaveLength(2);
  });

  it("ends with the caller's patience, not with the function's", async () => {
    await using server = await startMcpTestServer();
    const { opened, open } = gate();
    await using client = clientOf(server, {
      identity: userOf,
      headers: async () => opened.then(() => ({})),
    });
    const controller = new AbortController();
    const call = client.callTool(echo(), { ...as("alice"), signal: controller.signal });
    controller.abort(new Error("enough"));
    expect(await failureOf(call)).toMatchObject({ message: "enough" });
    await client.close();
    open();
    expect(server.received("tools/call")).toEqual([]);
  });
});

describe("more users than there is room for", () => {
  it("the one who was idle longest makes room, and its session is ended", async () => {
    await using server = await startMcpTestServer({ tools: [WHO] });
    await using client = clientOf(server, { ...TENANTS, limits: { identities: 2 } });
    for (const user of ["alice", "bob", "alice", "carol"]) await client.callTool({ name: "who" }, as(user));
    expect(client.sessions().map(({ identity }) => identity)).toEqual(["alice", "carol"]);
    await eventually(() => server.received("DELETE").length === 1);
    expect(server.received("DELETE")[0]?.headers["authorization"]).toBe("Bearer token-of-bob-1");
    expect((await client.callTool({ name: "who" }, as("bob"))).text()).toBe("Bearer token-of-bob-1");
    await client.close();
    await eventually(() => server.openSessions.length === 0);
  });

  it("whoever is busy stays", async () => {
    const { opened, open } = gate();
    const slow: TestTool = { name: "slow", run: async () => opened.then(() => "done") };
    await using server = await startMcpTestServer({ tools: [slow, WHO] });
    await using client = clientOf(server, { ...TENANTS, limits: { identities: 1 } });
    const busy = client.callTool({ name: "slow" }, as("alice"));
    await server.waitFor("tools/call");
    for (const user of ["bob", "carol"]) await client.callTool({ name: "who" }, as(user));
    expect(client.sessions().map(({ identity }) => identity)).toEqual(["alice", "carol"]);
    open();
    expect((await busy).text()).toBe("done");
  });
});
