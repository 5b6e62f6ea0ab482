import { describe, expect, it } from "vitest";
import { createMcpTools, type McpClient, type McpToolset } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { McpServerManager, type McpServerManagerOptions } from "../../../src/manager/index.js";
import {
  createTestClient,
  echo,
  emitUntil,
  eventually,
  NO_RETRY,
  recordWarnings,
  rejection,
} from "../../fixtures/clients.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

type World = Awaited<ReturnType<typeof startProtectedServer>>;

/** A provider with the tokens of a login, which was its only one. */
async function createLoggedInProvider({ oauth, clientWith }: World): Promise<MemoryOAuthProvider> {
  const provider = new MemoryOAuthProvider();
  await using client = clientWith(provider);
  const { authorizationUrl = "" } = await rejection(client.ensureSession());
  await client.finishAuth(await oauth.logIn(authorizationUrl));
  return provider;
}

/** From now on only a new login helps. */
function revokeAllTokens({ oauth }: World): void {
  oauth.revokeAccessTokens();
  oauth.revokeRefreshTokens();
}

/** The messages that need no token: all that a session with one tool needs, except listing the tools. */
const CALL_METHODS = ["initialize", "notifications/initialized", "tools/call"];

function getClient(mcp: McpToolset): McpClient {
  const client = mcp.servers.clients.get("srv");
  if (client === undefined) throw new Error("the server srv is missing");
  return client;
}

function createToolset(world: World, auth: MemoryOAuthProvider, logger = new RecordingLogger()) {
  const server = { url: world.oauth.url, auth, optional: true, ...NO_RETRY };
  return createMcpTools({ srv: server }, { logger, reconnection: false });
}

function createManager(world: World, auth: MemoryOAuthProvider, options: McpServerManagerOptions) {
  const server = { url: world.oauth.url, auth, optional: true, ...NO_RETRY };
  return new McpServerManager({ srv: server }, { logger: new RecordingLogger(), ...options });
}

/** The server loses the session after it has announced a change, and before the tools are listed again. */
async function loseSessionAfterChange(world: World, mcp: McpToolset): Promise<void> {
  let changes = 0;
  getClient(mcp).on("toolsChanged", () => (changes += 1), { passive: true });
  world.oauth.publicMethods.add("tools/list");
  await emitUntil(
    () => world.mcp.notifyToolsChanged(),
    () => changes > 0,
  );
  world.mcp.dropSessions();
}

describe("no login is started without a caller", () => {
  it("by the listing after a change, and the next call starts one", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const logger = new RecordingLogger();
    await using mcp = await createToolset(world, provider, logger);
    const isRefreshed = () => world.mcp.received("tools/list").length > 1;
    await emitUntil(() => world.mcp.notifyToolsChanged(), isRefreshed);
    revokeAllTokens(world);
    const hasFailed = () => logger.warnings.some((text) => text.includes("Could not refresh the tools"));
    await emitUntil(() => world.mcp.notifyToolsChanged(), hasFailed);
    expect(provider.redirects).toHaveLength(1);
    expect(provider.tokens()).toBeDefined();
    const { kind, authorizationUrl } = await rejection(getClient(mcp).callTool(echo()));
    expect(kind).toBe("unauthorized");
    expect(provider.redirects.map(({ href }) => href)[1]).toBe(authorizationUrl);
  });

  it("by that listing on a fresh session", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const retry = { freshSession: true, maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 };
    const server = { url: world.oauth.url, auth: provider, retry };
    const options = { logger: new RecordingLogger(), reconnection: false } as const;
    await using mcp = await createMcpTools({ srv: server }, options);
    await world.mcp.waitFor("GET");
    let listings = 0;
    mcp.on("toolsListed", () => (listings += 1));
    world.oauth.publicMethods.add("tools/list");
    world.mcp.addFault({ type: "status", status: 502 }, { method: "tools/list" });
    revokeAllTokens(world);
    await emitUntil(
      () => world.mcp.notifyToolsChanged(),
      () => listings > 0,
    );
    expect(provider.redirects).toHaveLength(1);
  });

  it("by that listing whose stream is interrupted, and resumed with another request", async () => {
    await using server = await startMcpTestServer({ resumable: true });
    await using oauth = await OAuthServer.start(server.url);
    const provider = new MemoryOAuthProvider();
    await using client = createTestClient(oauth, { auth: provider });
    const { authorizationUrl = "" } = await rejection(client.ensureSession());
    await client.finishAuth(await oauth.logIn(authorizationUrl));
    await using mcp = await createMcpTools({ srv: { url: oauth.url, auth: provider, ...NO_RETRY } });
    await server.waitFor("GET");
    let listings = 0;
    mcp.on("toolsListed", () => (listings += 1));
    oauth.publicMethods.add("tools/list");
    server.addFault({ type: "disconnect", when: "during" }, { method: "tools/list" });
    oauth.revokeAccessTokens();
    oauth.revokeRefreshTokens();
    await emitUntil(
      () => server.notifyToolsChanged(),
      () => listings > 0,
    );
    expect(provider.redirects).toHaveLength(1);
  });

  it("by the listing after a change without a session", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const logger = new RecordingLogger();
    await using mcp = await createToolset(world, provider, logger);
    await loseSessionAfterChange(world, mcp);
    revokeAllTokens(world);
    await eventually(() => logger.warnings.some((text) => text.includes("Could not refresh the tools")));
    expect(world.mcp.received("tools/list")).toHaveLength(2);
    expect(provider.redirects).toHaveLength(1);
  });

  it("by that session, which a call opens again to start one", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    await using mcp = await createToolset(world, provider);
    const tokenRequests = world.oauth.tokenRequests.length;
    await loseSessionAfterChange(world, mcp);
    world.oauth.tokenDelayMs = 200;
    revokeAllTokens(world);
    await eventually(() => world.oauth.tokenRequests.length > tokenRequests);
    const { authorizationUrl } = await rejection(getClient(mcp).callTool(echo()));
    expect(provider.redirects.map(({ href }) => href).slice(1)).toEqual([authorizationUrl]);
  });

  it("by that session, but by a later call on it", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    await using mcp = await createToolset(world, provider);
    await loseSessionAfterChange(world, mcp);
    await eventually(() => world.mcp.received("initialize").length > 1);
    await eventually(() => world.mcp.received("tools/list").length > 2);
    revokeAllTokens(world);
    const { authorizationUrl } = await rejection(getClient(mcp).callTool(echo()));
    expect(provider.redirects.map(({ href }) => href).slice(1)).toEqual([authorizationUrl]);
    expect(world.mcp.received("initialize")).toHaveLength(2);
  });

  it("by such a listing that a caller waits for, who starts one afterwards", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    await using mcp = await createToolset(world, provider);
    const isRefreshed = () => world.mcp.received("tools/list").length > 1;
    await emitUntil(() => world.mcp.notifyToolsChanged(), isRefreshed);
    const tokenRequests = world.oauth.tokenRequests.length;
    world.oauth.tokenDelayMs = 200;
    revokeAllTokens(world);
    await emitUntil(
      () => world.mcp.notifyToolsChanged(),
      () => world.oauth.tokenRequests.length > tokenRequests,
    );
    expect(provider.redirects).toHaveLength(1);
    await mcp.refresh().catch(() => undefined);
    expect(provider.redirects).toHaveLength(2);
  });

  it("by the listing of a server that a call has connected", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    for (const method of CALL_METHODS) world.oauth.publicMethods.add(method);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using mcp = await createToolset(world, provider);
    let listings = 0;
    mcp.on("toolsListed", () => (listings += 1));
    revokeAllTokens(world);
    repair();
    expect((await getClient(mcp).callTool(echo("in"))).text()).toBe("in");
    await eventually(() => listings > 0);
    expect(provider.redirects).toHaveLength(1);
  });

  it("by that listing, but for a caller who has waited for it", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    for (const method of CALL_METHODS) world.oauth.publicMethods.add(method);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using mcp = await createToolset(world, provider);
    const tokenRequests = world.oauth.tokenRequests.length;
    world.oauth.tokenDelayMs = 200;
    revokeAllTokens(world);
    repair();
    await getClient(mcp).callTool(echo());
    await eventually(() => world.oauth.tokenRequests.length > tokenRequests);
    await mcp.toolsFor({});
    expect(provider.redirects).toHaveLength(2);
  });

  it("by the stream for changes, nor by the end of a session", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const client = world.clientWith(provider);
    await client.callTool(echo());
    revokeAllTokens(world);
    client.on("toolsChanged", () => undefined);
    await client.close();
    expect(provider.redirects).toHaveLength(1);
  });

  it("by the log level that is restored on a new session", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    for (const method of CALL_METHODS) world.oauth.publicMethods.add(method);
    await using client = world.clientWith(provider);
    await client.setLogLevel("error").catch(() => undefined);
    const warnings = recordWarnings(client);
    world.mcp.dropSessions();
    revokeAllTokens(world);
    await client.callTool(echo());
    expect(warnings.join("\n")).toContain("did not restore log level");
    expect(provider.redirects).toHaveLength(1);
  });
});

describe("a subscription", () => {
  it("to a resource of a server of 2026-07-28 starts a login if its caller has to log in", async () => {
    await using server = await startEraServer("modern", {
      resources: [{ uri: "file:///a", read: () => "a" }],
    });
    await using oauth = await OAuthServer.start(server.url);
    const provider = new MemoryOAuthProvider();
    await using client = createTestClient(oauth, { auth: provider });
    const first = await rejection(client.ensureSession());
    await client.finishAuth(await oauth.logIn(first.authorizationUrl ?? ""));
    await client.ensureSession();
    oauth.revokeAccessTokens();
    oauth.revokeRefreshTokens();
    const { authorizationUrl } = await rejection(client.subscribeResource("file:///a"));
    expect(provider.redirects.map(({ href }) => href).slice(1)).toEqual([authorizationUrl]);
  });
});

describe("a refresh in the background that fails", () => {
  it("because of an error of the authorization server starts no login in its place", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const logger = new RecordingLogger();
    await using mcp = await createToolset(world, provider, logger);
    await world.mcp.waitFor("GET");
    world.oauth.revokeAccessTokens();
    world.oauth.tokenError = { error: "server_error" };
    const hasFailed = () => logger.warnings.some((text) => text.includes("Could not refresh the tools"));
    await emitUntil(() => world.mcp.notifyToolsChanged(), hasFailed);
    expect(provider.redirects).toHaveLength(1);
    await rejection(getClient(mcp).callTool(echo()));
    expect(provider.redirects).toHaveLength(2);
  });

  it("because the client is not registered any more does not register it", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    world.oauth.metadata = { registration_endpoint: `${world.oauth.origin}/token` };
    const registered: unknown[] = [];
    Object.assign(provider, {
      clientInformation: () => undefined,
      saveClientInformation: (information: unknown) => registered.push(information),
    });
    const logger = new RecordingLogger();
    await using _ = await createToolset(world, provider, logger);
    await world.mcp.waitFor("GET");
    const before = world.oauth.tokenRequests.length;
    world.oauth.revokeAccessTokens();
    const hasFailed = () => logger.warnings.some((text) => text.includes("Could not refresh the tools"));
    await emitUntil(() => world.mcp.notifyToolsChanged(), hasFailed);
    expect(world.oauth.tokenRequests).toHaveLength(before);
    expect([registered, provider.redirects.length]).toEqual([[], 1]);
  });
});

describe("a token that cannot be refreshed because the authorization server is down", () => {
  it("is refreshed in the background with growing delays, and by each call at once", async () => {
    const clock = new FakeClock();
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    await using manager = createManager(world, provider, { clock, reconnection: false });
    await manager.connect();
    await world.mcp.waitFor("GET");
    const client = manager.clients.get("srv");
    let failures = 0;
    let changes = 0;
    manager.on("toolsListed", ({ kind }) => (failures += kind === "unauthorized" ? 1 : 0));
    client?.on("toolsChanged", () => (changes += 1));
    const before = world.oauth.tokenRequests.length;
    /** The token requests of a listing that the server causes after some time. */
    const refreshAfter = async (ms: number): Promise<number> => {
      clock.advance(ms);
      const failuresBefore = failures;
      const isAnnounced = changes;
      await emitUntil(
        () => world.mcp.notifyToolsChanged(),
        () => changes > isAnnounced,
      );
      await eventually(() => failures > failuresBefore);
      return world.oauth.tokenRequests.length - before;
    };
    world.oauth.revokeAccessTokens();
    world.oauth.isDown = true;
    expect(await refreshAfter(0)).toBe(1);
    expect(await refreshAfter(1_000)).toBe(1);
    expect(await refreshAfter(10_000)).toBe(2);
    expect(await refreshAfter(10_000)).toBe(2);
    expect(await refreshAfter(10_000)).toBe(3);
    expect(provider.redirects).toHaveLength(1);
    await client?.callTool(echo()).catch(() => undefined);
    expect(world.oauth.tokenRequests.length - before).toBe(4);
    world.oauth.isDown = false;
    expect((await client?.callTool(echo("in")))?.text()).toBe("in");
  });

  it("is refreshed with short delays again after it could be refreshed", async () => {
    const clock = new FakeClock();
    await using world = await startProtectedServer();
    world.oauth.keepsRefreshTokens = true;
    const provider = await createLoggedInProvider(world);
    await using manager = createManager(world, provider, { clock, reconnection: false });
    await manager.connect();
    await world.mcp.waitFor("GET");
    let listings = 0;
    let changes = 0;
    manager.on("toolsListed", () => (listings += 1));
    manager.clients.get("srv")?.on("toolsChanged", () => (changes += 1));
    const before = world.oauth.tokenRequests.length;
    const refreshAfter = async (ms: number): Promise<number> => {
      clock.advance(ms);
      const listingsBefore = listings;
      const isAnnounced = changes;
      await emitUntil(
        () => world.mcp.notifyToolsChanged(),
        () => changes > isAnnounced,
      );
      clock.advance(250);
      await eventually(() => listings > listingsBefore);
      return world.oauth.tokenRequests.length - before;
    };
    world.oauth.revokeAccessTokens();
    world.oauth.isDown = true;
    expect(await refreshAfter(0)).toBe(1);
    expect(await refreshAfter(10_000)).toBe(2);
    world.oauth.isDown = false;
    expect(await refreshAfter(20_000)).toBe(3);
    world.oauth.revokeAccessTokens();
    world.oauth.isDown = true;
    expect(await refreshAfter(0)).toBe(4);
    expect(await refreshAfter(10_000)).toBe(5);
  });

  it("is tried by background attempts with the delays for rejected credentials", async () => {
    const clock = new FakeClock();
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using manager = createManager(world, provider, { clock });
    await manager.connect().catch(() => undefined);
    repair();
    world.oauth.revokeAccessTokens();
    world.oauth.isDown = true;
    const before = world.oauth.tokenRequests.length;
    /** The first attempt follows a failure of the server, and the others one of the credentials. */
    for (const [index, delayMs] of [500, 30_000, 60_000, 120_000].entries()) {
      const hasFailed = () => manager.clients.get("srv")?.metrics().handshakes.failures === index + 1;
      await eventually(() => hasFailed() && clock.pending === 1);
      clock.advance(delayMs * 1.2);
      await eventually(() => world.oauth.tokenRequests.length === before + index + 1);
    }
    expect(provider.redirects).toHaveLength(1);
  });
});
