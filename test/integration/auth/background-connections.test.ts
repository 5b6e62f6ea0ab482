import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { McpServerManager, publishServer, registryServers } from "../../../src/manager/index.js";
import { memoryStore } from "../../../src/stores/index.js";
import { eventually, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

type World = Awaited<ReturnType<typeof startProtectedServer>>;

/** Background attempts follow each other at once. */
const QUICK = { delaysMs: [5] };
const SESSION_METHODS = ["notifications/initialized", "tools/list", "tools/call"];

/** A provider with the tokens of a login, which was its only one. From now on only a new login would help. */
async function createRevokedProvider({ oauth, clientWith }: World): Promise<MemoryOAuthProvider> {
  const provider = new MemoryOAuthProvider();
  await using client = clientWith(provider);
  const { authorizationUrl = "" } = await rejection(client.ensureSession());
  await client.finishAuth(await oauth.logIn(authorizationUrl));
  oauth.revokeAccessTokens();
  oauth.revokeRefreshTokens();
  return provider;
}

/** The server accepts all requests of a session until its tools are listed, and rejects the next session: each time. */
function rejectAfterListing({ oauth }: World): { readonly rejected: number } {
  const counts = { rejected: 0 };
  let last = "";
  for (const method of SESSION_METHODS) oauth.publicMethods.add(method);
  oauth.onMessage = (method) => {
    if (method === "initialize" && last === "tools/list") {
      counts.rejected += 1;
      oauth.publicMethods.delete(method);
    } else oauth.publicMethods.add(method);
    last = method;
  };
  return counts;
}

/** A manager of one server that was down at its start, and accepts the credentials only until its tools are listed. */
async function createManager(world: World, auth: MemoryOAuthProvider) {
  const { oauth, mcp } = world;
  const repair = mcp.addFault({ type: "status", status: 503 }, { method: "initialize" });
  const server = { url: oauth.url, auth, optional: true, ...NO_RETRY };
  const manager = new McpServerManager(
    { srv: server },
    { logger: new RecordingLogger(), reconnection: QUICK },
  );
  oauth.publicMethods.add("initialize");
  await manager.connect();
  const counts = rejectAfterListing(world);
  repair();
  return { manager, counts };
}

describe("no login is started without a caller", () => {
  it("by background attempts to connect whose credentials are accepted at first", async () => {
    await using world = await startProtectedServer();
    const provider = await createRevokedProvider(world);
    const { manager, counts } = await createManager(world, provider);
    await using _ = manager;
    await eventually(() => counts.rejected > 2);
    expect(provider.redirects).toHaveLength(1);
    // Not known while the next attempt runs.
    await eventually(() => manager.errors.get("srv")?.kind === "unauthorized");
  });

  it("by such an attempt, but by a caller who has waited for it", async () => {
    await using world = await startProtectedServer();
    const provider = await createRevokedProvider(world);
    world.oauth.tokenDelayMs = 200;
    const { manager } = await createManager(world, provider);
    await using _ = manager;
    const before = world.oauth.tokenRequests.length;
    await eventually(() => world.oauth.tokenRequests.length > before);
    expect(manager.status()["srv"]?.state).toBe("connecting");
    world.oauth.publicMethods.clear();
    world.oauth.onMessage = undefined;
    const { kind, authorizationUrl } = await rejection(manager.waitFor("srv"));
    expect(kind).toBe("unauthorized");
    expect(provider.redirects.map(({ href }) => href).slice(1)).toEqual([authorizationUrl]);
  });

  it("by such an attempt after the URL of an earlier login was reported, which stays in errors", async () => {
    await using world = await startProtectedServer();
    const provider = new MemoryOAuthProvider();
    const server = { url: world.oauth.url, auth: provider, optional: true, ...NO_RETRY };
    const options = { logger: new RecordingLogger(), reconnection: QUICK };
    await using manager = new McpServerManager({ srv: server }, options);
    await manager.connect();
    provider.saveTokens({ access_token: "Unknown-Token-1", token_type: "Bearer" });
    const counts = rejectAfterListing(world);
    await eventually(() => counts.rejected > 2 && manager.status()["srv"]?.state === "failed");
    expect(provider.redirects).toHaveLength(1);
    expect(manager.errors.get("srv")?.authorizationUrl).toBe(provider.redirects[0]?.href);
  });

  it("by the connection after a login whose token is rejected", async () => {
    await using world = await startProtectedServer();
    const provider = new MemoryOAuthProvider();
    const server = { url: world.oauth.url, auth: provider, optional: true, ...NO_RETRY };
    const options = { logger: new RecordingLogger(), reconnection: false } as const;
    await using manager = new McpServerManager({ srv: server }, options);
    await manager.connect();
    const { authorizationUrl = "" } = manager.errors.get("srv") ?? {};
    world.oauth.tokenFields = { access_token: "Unknown-Token-1", refresh_token: undefined };
    let attempts = 0;
    manager.on("serverChanged", ({ state }) => (attempts += state === "failed" ? 1 : 0));
    await manager.clients.get("srv")?.finishAuth(await world.oauth.logIn(authorizationUrl));
    await eventually(() => attempts === 1);
    expect(provider.redirects).toHaveLength(1);
  });

  it("by a server that joins a registry later, unlike those of the start", async () => {
    await using world = await startProtectedServer();
    await using store = memoryStore();
    const provider = new MemoryOAuthProvider();
    const { origin, url } = world.oauth;
    const registry = registryServers(store, {
      allow: [origin],
      credentials: { [origin]: { auth: provider } },
      refreshIntervalMs: 20,
      unhealthyAfter: 1_000,
    });
    await publishServer(store, { name: "first", url });
    await using manager = new McpServerManager({}, { logger: new RecordingLogger(), reconnection: false });
    await registry.attach(manager);
    await eventually(() => manager.failed.includes("first"));
    expect(provider.redirects.map(({ href }) => href)).toEqual([
      manager.errors.get("first")?.authorizationUrl,
    ]);
    await publishServer(store, { name: "second", url });
    await eventually(() => manager.failed.includes("second"));
    expect(provider.redirects).toHaveLength(1);
    const { authorizationUrl } = await rejection(manager.reconnect("second"));
    expect(provider.redirects.map(({ href }) => href).slice(1)).toEqual([authorizationUrl]);
  });

  it("by health checks of a registry that include a server again", async () => {
    await using world = await startProtectedServer();
    await using store = memoryStore();
    const provider = await createRevokedProvider(world);
    const { origin, url, publicMethods } = world.oauth;
    for (const method of ["initialize", ...SESSION_METHODS]) publicMethods.add(method);
    const registry = registryServers(store, {
      allow: [origin],
      credentials: { [origin]: { auth: provider } },
      refreshIntervalMs: 20,
      unhealthyAfter: 1,
    });
    await publishServer(store, { name: "srv", url });
    await using mcp = await createMcpTools(
      {},
      { registry, logger: new RecordingLogger(), reconnection: false },
    );
    await eventually(() => mcp.servers.connected.includes("srv"));
    const repair = world.mcp.addFault({ type: "status", status: 503 }, { method: "tools/list" });
    await eventually(() => mcp.servers.status()["srv"]?.state === "disconnected");
    const counts = rejectAfterListing(world);
    // The next health check may succeed before the state is read.
    const states: string[] = [];
    mcp.on("serverChanged", ({ state }) => states.push(state));
    repair();
    await eventually(() => counts.rejected > 0 && states.includes("failed"));
    expect(provider.redirects).toHaveLength(1);
  });
});

describe("a circuit breaker's probe", () => {
  it("starts no login", async () => {
    await using world = await startProtectedServer();
    const provider = await createRevokedProvider(world);
    const circuitBreaker = { failureThreshold: 1, recoveryTimeoutMs: 60_000 };
    await using client = world.clientWith(provider, { ...NO_RETRY, circuitBreaker });
    world.oauth.publicMethods.add("initialize");
    await world.mcp.stop();
    await rejection(client.callTool({ name: "echo" }));
    expect(client.breaker?.stats().state).toBe("open");
    world.oauth.publicMethods.clear();
    let probes = 0;
    world.oauth.onMessage = () => (probes += 1);
    await eventually(() => probes > 0 && client.breaker?.stats().state !== "open");
    expect(provider.redirects).toHaveLength(1);
  });
});
