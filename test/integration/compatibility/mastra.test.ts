// Behavior that the test suite of Mastra's MCP client checks, as far as no other test of this package does.
import { describe, expect, it } from "vitest";
import { createMcpTools, type OAuthTokens } from "../../../src/index.js";
import type { JsonObject } from "../../../src/json/json.js";
import { memoryStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import {
  INITIALIZE_RESULT,
  openStream,
  type RawServer,
  sendJson,
  startRawServer,
} from "../../fixtures/raw-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { startToolset } from "../../fixtures/toolsets.js";

const MODERN = { protocol: "2026-07-28" } as const;

/** Lists these tools, and responds to every call with `ok`. */
function startListingServer(tools: readonly unknown[]): Promise<RawServer> {
  return startRawServer(({ method, id, response }) =>
    method === "tools/list" ? sendJson(response, id, { tools }) : false,
  );
}

describe("a subscription to a resource", () => {
  const resources = ["a:0", "a:1", "a:2", "a:3"].map((uri) => ({ uri, read: () => "text" }));
  const requestedOf = (body: unknown) =>
    (body as { params: { notifications: JsonObject } }).params.notifications;

  it("fails if the server acknowledges the stream without it, and others go on", async () => {
    await using server = await startRawServer(({ method, id, body, response }) => {
      const capabilities = { resources: {} };
      if (method === "server/discover")
        return sendJson(response, id, { supportedVersions: ["2026-07-28"], capabilities });
      if (method !== "subscriptions/listen") return false;
      const requested = requestedOf(body)["resourceSubscriptions"] as string[];
      const resourceSubscriptions = requested.filter((uri) => uri !== "a:declined");
      const _meta = { "io.modelcontextprotocol/subscriptionId": id };
      const params = { notifications: { resourceSubscriptions }, _meta };
      return openStream(response)({
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params,
      });
    });
    await using client = createTestClient(server, MODERN);
    await client.subscribeResource("a:1");
    expect(await rejection(client.subscribeResource("a:declined"))).toMatchObject({
      kind: "not-found",
      message: expect.stringContaining('does not send updates of the resource "a:declined"'),
    });
    await client.subscribeResource("a:2");
    const streams = server.requests.filter(({ method }) => method === "subscriptions/listen");
    expect(requestedOf(streams.at(-1)?.body)).toEqual({ resourceSubscriptions: ["a:1", "a:2"] });
  });

  it("that is repeated opens no second stream, and list changes share it", async () => {
    await using server = await startEraServer("modern", { resources });
    await using client = createTestClient(server, MODERN);
    await client.subscribeResource("a:1");
    await client.subscribeResource("a:1");
    const streams = () => server.received("subscriptions/listen");
    expect(streams()).toHaveLength(1);
    client.on("resourcesChanged", () => undefined);
    await eventually(() => streams().length === 2);
    expect(requestedOf(streams()[1]?.body)).toMatchObject({
      resourcesListChanged: true,
      resourceSubscriptions: ["a:1"],
    });
  });

  it("that is cancelled while others are made is not restored after a restart", async () => {
    await using server = await startEraServer("modern", { resources });
    await using client = createTestClient(server, MODERN);
    const updates: string[] = [];
    client.on("resourceUpdated", ({ uri }) => updates.push(uri));
    await Promise.all(resources.map(({ uri }) => client.subscribeResource(uri)));
    await Promise.all([client.unsubscribeResource("a:0"), client.unsubscribeResource("a:2")]);
    const before = server.received("subscriptions/listen").length;
    await server.restart();
    await eventually(() => server.received("subscriptions/listen").length > before);
    const last = server.received("subscriptions/listen").at(-1);
    expect(requestedOf(last?.body)).toMatchObject({ resourceSubscriptions: ["a:1", "a:3"] });
  });
});

describe("the contents of a resource", () => {
  it("keep empty values, media types and _meta, and have the URI that was read if they name none", async () => {
    const contents = [
      { text: "no URI" },
      { uri: "a:2", text: "", mimeType: "", _meta: {} },
      { uri: "a:3", blob: "" },
    ];
    await using server = await startRawServer(({ method, id, response }) => {
      if (method === "initialize")
        return sendJson(response, id, { ...INITIALIZE_RESULT, capabilities: { resources: {} } });
      return method === "resources/read" ? sendJson(response, id, { contents }) : false;
    });
    await using client = createTestClient(server);
    expect(await client.readResource("a:1")).toEqual([
      { uri: "a:1", text: "no URI" },
      { uri: "a:2", text: "", mimeType: "", meta: {} },
      { uri: "a:3", blob: "" },
    ]);
    expect(server.requests.map(({ method }) => method)).not.toContain("resources/list");
  });
});

describe("an OAuth provider", () => {
  it("may have the URL of a metadata document as its client id", async () => {
    const clientMetadataUrl = "https://client.example/oauth/client.json";
    class DocumentProvider extends MemoryOAuthProvider {
      readonly clientMetadataUrl = clientMetadataUrl;
      #client: object | undefined;
      override clientInformation(): object {
        return this.#client as object;
      }
      saveClientInformation(client: object): void {
        this.#client = client;
      }
    }
    await using world = await startProtectedServer();
    world.oauth.metadata = { client_id_metadata_document_supported: true };
    await using client = world.clientWith(new DocumentProvider());
    const { authorizationUrl = "" } = await rejection(client.callTool(echo()));
    expect(new URL(authorizationUrl).searchParams.get("client_id")).toBe(clientMetadataUrl);
    await client.finishAuth(await world.oauth.logIn(authorizationUrl));
    expect((await client.callTool(echo("in"))).text()).toBe("in");
  });

  it("with the tokens of an earlier client needs no login", async () => {
    await using world = await startProtectedServer();
    const earlier = new MemoryOAuthProvider();
    await using first = world.clientWith(earlier);
    const { authorizationUrl = "" } = await rejection(first.callTool(echo()));
    await first.finishAuth(await world.oauth.logIn(authorizationUrl));
    const later = new MemoryOAuthProvider();
    later.saveTokens(earlier.tokens() as OAuthTokens);
    await using second = world.clientWith(later);
    expect((await second.callTool(echo("again"))).text()).toBe("again");
    expect(later.redirects).toEqual([]);
  });

  it.each(["client_secret_basic", "client_secret_post"])(
    "sends its secret by %s with the code and with a refresh token, and is never registered",
    async (method) => {
      class ConfidentialProvider extends MemoryOAuthProvider {
        override clientInformation(): object {
          return { client_id: "app", client_secret: "hush-Hush-2" };
        }
      }
      await using world = await startProtectedServer();
      const { oauth } = world;
      oauth.metadata = {
        token_endpoint_auth_methods_supported: [method],
        registration_endpoint: `${oauth.origin}/nowhere`,
      };
      await using client = world.clientWith(new ConfidentialProvider());
      const { authorizationUrl = "" } = await rejection(client.callTool(echo()));
      await client.finishAuth(await oauth.logIn(authorizationUrl));
      oauth.revokeAccessTokens();
      await client.callTool(echo());
      const isBasic = method === "client_secret_basic";
      const basic = `Basic ${Buffer.from("app:hush-Hush-2").toString("base64")}`;
      const secret = isBasic ? null : "hush-Hush-2";
      expect(oauth.tokenRequests.map((params) => params.get("client_secret"))).toEqual([secret, secret]);
      const authorization = isBasic ? basic : undefined;
      expect(oauth.tokenAuthorizations).toEqual([authorization, authorization]);
    },
  );
});

describe("tools from a cache", () => {
  const outputSchema = { type: "object", properties: { celsius: { type: "number" } } };
  const measure = (celsius: unknown) => ({
    name: "measure",
    outputSchema,
    run: () => ({ content: [{ type: "text", text: "measured" }], structuredContent: { celsius } }),
  });

  it("have their results validated without another listing", async () => {
    await using store = memoryStore();
    await using server = await startMcpTestServer({ tools: [measure("warm")] });
    const start = () =>
      createMcpTools({ srv: { url: server.url } }, { cache: { store }, outputValidation: "error" });
    await (await start()).close();
    await using mcp = await start();
    const failure = await rejection(mcp.tools[0]?.invoke({}) as Promise<unknown>);
    expect(failure).toMatchObject({ kind: "invalid-response" });
    expect(server.received("tools/list")).toHaveLength(1);
  });

  it("do not include those of a server that is no longer configured", async () => {
    await using store = memoryStore();
    await using server = await startMcpTestServer({ tools: [measure(1)] });
    const [current, former] = [{ url: server.url }, { url: `${server.url}?former` }];
    await (await createMcpTools({ current, former }, { cache: { store } })).close();
    await using mcp = await createMcpTools({ current }, { cache: { store } });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["current__measure"]);
  });
});

describe("a listing of tools", () => {
  it("is repeated after a broken connection", async () => {
    let listings = 0;
    await using server = await startRawServer(({ method, id, response }) => {
      if (method !== "tools/list") return false;
      listings += 1;
      return listings === 1 ? void response.destroy() : sendJson(response, id, { tools: [] });
    });
    await using client = createTestClient(server, { retry: { baseDelayMs: 1 } });
    expect(await client.listTools()).toEqual([]);
    expect(listings).toBe(2);
  });

  it("is not repeated after an invalid response", async () => {
    await using server = await startListingServer({} as never);
    await using client = createTestClient(server, { retry: { baseDelayMs: 1 } });
    expect(await rejection(client.listTools())).toMatchObject({ kind: "invalid-response" });
    expect(server.requests.filter(({ method }) => method === "tools/list")).toHaveLength(1);
  });

  it("leaves out tools whose schema is not an object schema, and keeps the others", async () => {
    const invalid = [null, undefined, true, false, [], "object", 1, { type: "array" }];
    const tools = [{}, ...invalid].map((inputSchema, index) => ({ name: `tool-${index}`, inputSchema }));
    await using server = await startListingServer(tools);
    await using client = createTestClient(server);
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["tool-0"]);
  });

  it("has warnings of limited length, whatever a schema contains", async () => {
    const property = { type: "unknown", pattern: "(" };
    const inputSchema = { type: "object", properties: { ["x".repeat(5_000)]: property } };
    await using server = await startListingServer([{ name: "y".repeat(5_000), inputSchema }]);
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ srv: { url: server.url } }, { logger });
    await mcp.tools[0]?.invoke({});
    expect(logger.warnings.length).toBeGreaterThan(0);
    expect(Math.max(...logger.warnings.map(({ length }) => length))).toBeLessThan(1_000);
  });
});

describe("the arguments of a call", () => {
  it("are an empty object if there are none", async () => {
    await using server = await startRawServer();
    await using client = createTestClient(server);
    await client.callTool({ name: "get" });
    await client.callTool({ name: "get", args: undefined });
    const calls = server.requests.filter(({ method }) => method === "tools/call");
    expect(calls.map(({ body }) => (body["params"] as JsonObject)["arguments"])).toEqual([{}, {}]);
  });

  it.each<[string, string, unknown, unknown]>([
    ["draft 4", "http://json-schema.org/draft-04/schema#", 6, 5],
    ["a dialect that is not known", "https://example.invalid/dialect", 5, "five"],
  ])("are checked with a schema of %s", async (_, $schema, valid, invalid) => {
    const n = { type: "number", minimum: 5, ...(invalid === 5 ? { exclusiveMinimum: true } : {}) };
    const inputSchema = { $schema, type: "object", properties: { n } };
    await using toolset = await startToolset({ tools: [{ name: "get", inputSchema, run: () => "ok" }] });
    expect((await toolset.call({ n: valid })).status).toBe("success");
    expect((await toolset.call({ n: invalid })).status).toBe("error");
    expect(toolset.server.executions).toHaveLength(1);
  });

  it("may be arrays of alternatives", async () => {
    const filter = { type: "object", properties: { field: { type: "string" }, value: { type: "string" } } };
    const filters = { type: "array", items: { anyOf: [filter, { type: "string", enum: ["and", "or"] }] } };
    const inputSchema = { type: "object", properties: { filters } };
    const run = (args: JsonObject) => JSON.stringify(args);
    await using toolset = await startToolset({ tools: [{ name: "get", inputSchema, run }] });
    const args = { filters: [{ field: "volume", value: "10" }, "and"] };
    expect((await toolset.call(args)).content).toBe(JSON.stringify(args));
    expect((await toolset.call({ filters: ["xor"] })).status).toBe("error");
  });
});

describe("a value that is not an error", () => {
  it.each<[string, () => unknown]>([
    ["without a prototype", () => Object.create(null)],
    ["whose properties cannot be read", () => new Proxy({}, { get: failToRead })],
  ])("%s fails the call at once if fetch rejects with it", async (_, create) => {
    const fetch = () => Promise.reject(create() as Error);
    await using client = createTestClient("http://127.0.0.1:9/mcp", { fetch });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
  });

  it.each<[string, () => unknown]>([
    ["without a prototype", () => Object.create(null)],
    ["whose properties cannot be read", () => new Proxy({}, { get: failToRead })],
    ["that is its own cause", createCyclicError],
  ])("%s does not stop other servers if an optional one throws it", async (_, create) => {
    await using server = await startMcpTestServer();
    const openTransport = () => {
      throw create();
    };
    await using mcp = await createMcpTools({
      good: { url: server.url },
      bad: { type: "custom", openTransport, optional: true, ...NO_RETRY },
    });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["good__echo"]);
    expect(mcp.status()["bad"]).toMatchObject({ state: "failed" });
  });
});

function failToRead(): never {
  throw new Error("cannot be read");
}

function createCyclicError(): Error {
  const error = new Error("first");
  error.cause = Object.assign(new Error("second"), { cause: error });
  return error;
}

describe("a redirect", () => {
  it("without an address fails the call, and the next one succeeds", async () => {
    let isRedirected = true;
    await using server = await startRawServer(({ method, response }) => {
      if (method !== "tools/call" || !isRedirected) return false;
      isRedirected = false;
      return void response.writeHead(302).end();
    });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({ status: 302, attempts: 1 });
    expect((await client.callTool({ name: "get" })).text()).toBe("ok");
  });
});
