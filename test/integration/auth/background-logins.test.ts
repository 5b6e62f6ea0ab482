import { describe, expect, it } from "vitest";
import { createMcpTools, type McpClient, type McpToolset } from "../../../src/index.js";
import { echo, emitUntil, eventually, NO_RETRY, recordWarnings, rejection } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
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
