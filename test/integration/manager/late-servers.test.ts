import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  type McpToolset,
  type McpToolsOptions,
  type OAuthProvider,
  type ServerDefinition,
} from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, NO_RETRY, rejection, type UrlDefinition } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

/** Background attempts follow each other at once. */
const QUICK = { delaysMs: [5] };

/** A toolset of one optional server that has failed, with attempts in quick succession unless the options differ. */
function createOptional(url: string, definition: UrlDefinition = {}, options: McpToolsOptions = {}) {
  const server = { url, optional: true, ...NO_RETRY, ...definition } as ServerDefinition;
  return createMcpTools(
    { srv: server },
    { logger: new RecordingLogger(), startupWaitMs: 60_000, reconnection: QUICK, ...options },
  );
}

/** Resolves with the names of the tools when the toolset announces that they have changed. */
function nextTools(mcp: McpToolset): Promise<string[]> {
  return new Promise((resolve) => {
    mcp.on("toolsChanged", () => resolve(mcp.tools.map(({ name }) => name)));
  });
}

/** Counts how often its tokens were read, which is once for every request. */
class CountingProvider extends MemoryOAuthProvider {
  reads = 0;

  override tokens() {
    this.reads += 1;
    return super.tokens();
  }

  /** Resolves after several more requests. */
  async severalRequests(): Promise<void> {
    const until = this.reads + 4;
    await eventually(() => this.reads > until);
  }
}

/** A provider with the tokens of a login. */
async function createLoggedInProvider(
  world: Awaited<ReturnType<typeof startProtectedServer>>,
): Promise<CountingProvider> {
  const provider = new CountingProvider();
  await using client = world.clientWith(provider);
  await client.ensureSession().catch(() => undefined);
  await client.finishAuth(await world.oauth.logIn(provider.redirects[0]?.href ?? ""));
  return provider;
}

describe("an optional server that fails at the start", () => {
  it.each([
    { name: "without credentials", definition: {} },
    { name: "with a breaker", definition: { circuitBreaker: {} } },
    {
      name: "with headers of a function",
      definition: { identity: () => "bot", headers: () => ({ "x-key": "k-1234567" }) },
    },
  ])("because it is down is added when it is back: $name", async ({ definition }) => {
    const stopped = await startMcpTestServer();
    await stopped.close();
    await using mcp = await createOptional(stopped.url, definition as UrlDefinition);
    expect(mcp.servers.errors.get("srv")).toMatchObject({ kind: "not-sent" });
    const tools = nextTools(mcp);
    await using _ = await startMcpTestServer({ port: Number(new URL(stopped.url).port) });
    expect(await tools).toEqual(["srv__echo"]);
    await eventually(() => mcp.status()["srv"]?.state === "connected");
    expect(mcp.servers.errors.size).toBe(0);
  });

  it.each(["initialize", "tools/list"])("because %s fails is added when that works", async (method) => {
    await using server = await startMcpTestServer();
    const repair = server.addFault({ type: "status", status: 500 }, { method });
    await using mcp = await createOptional(server.url);
    expect(mcp.tools).toEqual([]);
    await eventually(() => server.received(method).length > 3);
    const tools = nextTools(mcp);
    repair();
    expect(await tools).toEqual(["srv__echo"]);
  });

  it("because tools/list is not answered is tried again, within requestMs each time", async () => {
    await using server = await startMcpTestServer();
    const repair = server.addFault({ type: "hang" }, { method: "tools/list" });
    await using mcp = await createOptional(server.url, {
      identity: () => "bot",
      headers: () => ({ "x-key": "k-1234567" }),
      timeouts: { requestMs: 50 },
    });
    await eventually(() => server.received("tools/list").length > 3);
    const tools = nextTools(mcp);
    repair();
    expect(await tools).toEqual(["srv__echo"]);
  });

  it("is added when it is back, also after a reconnect() that failed", async () => {
    const stopped = await startMcpTestServer();
    await stopped.close();
    await using mcp = await createOptional(stopped.url);
    expect(await rejection(mcp.servers.reconnect("srv"))).toMatchObject({ kind: "not-sent" });
    const tools = nextTools(mcp);
    await using _ = await startMcpTestServer({ port: Number(new URL(stopped.url).port) });
    expect(await tools).toEqual(["srv__echo"]);
  });

  it("is connected by a reconnect() during the retries of a listing", async () => {
    await using server = await startMcpTestServer();
    let attempts = 0;
    const resolve = async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("not yet");
      return { url: server.url };
    };
    const retry = { maxRetries: 5, baseDelayMs: 1_000 };
    await using manager = new McpServerManager({ srv: { resolve, retry } });
    const retried = new Promise<void>((done) =>
      manager.clients.get("srv")?.on("requestRetried", () => done()),
    );
    const refreshing = rejection(manager.refresh("srv"));
    await retried;
    await manager.reconnect("srv");
    expect(manager.connected).toEqual(["srv"]);
    expect(await refreshing).toMatchObject({ kind: "closed" });
  });

  it("because it has no user yet stays connected once it has one", async () => {
    await using server = await startMcpTestServer();
    let identified = 0;
    await using mcp = await createOptional(
      server.url,
      {
        identity: ({ configurable }) => {
          identified += 1;
          return configurable["user"] as string;
        },
        headers: () => ({ "x-key": "k-1234567" }),
      },
      { reconnection: { ...QUICK, maxAttempts: 2 } },
    );
    expect(await mcp.toolsFor({ configurable: { user: "ann" } })).toHaveLength(1);
    const before = identified;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(identified).toBe(before);
    expect(mcp.status()["srv"]?.state).toBe("connected");
  });

  it("is not connected again without reconnection, and not after it was disconnected", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using off = await createOptional(server.url, {}, { reconnection: false });
    const attempts = server.received("initialize").length;
    await using mcp = await createOptional(server.url);
    await eventually(() => server.received("initialize").length > attempts + 2);
    await mcp.servers.disconnect("srv");
    const last = server.received("initialize").length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.received("initialize")).toHaveLength(last);
    expect(off.servers.failed).toEqual(["srv"]);
  });
});

describe("an optional server that rejects the credentials at the start", () => {
  it("is added when the login is finished, without a further request for it", async () => {
    await using world = await startProtectedServer();
    await using mcp = await createOptional(
      world.oauth.url,
      { auth: new MemoryOAuthProvider() },
      { reconnection: {} },
    );
    const { authorizationUrl = "" } = mcp.servers.errors.get("srv") ?? {};
    const tools = nextTools(mcp);
    const client = mcp.servers.clients.get("srv");
    await client?.finishAuth(await world.oauth.logIn(authorizationUrl));
    await mcp.servers.waitFor("srv");
    expect(await tools).toEqual(["srv__echo", "srv__erase"]);
  });

  it("is tried again without a login, and added once the provider has tokens", async () => {
    await using world = await startProtectedServer();
    const provider = new CountingProvider();
    await using mcp = await createOptional(world.oauth.url, { auth: provider });
    await provider.severalRequests();
    expect(provider.redirects).toHaveLength(1);
    expect(world.oauth.tokenRequests).toEqual([]);
    expect(mcp.servers.errors.get("srv")?.authorizationUrl).toBe(provider.redirects[0]?.href);

    const other = new MemoryOAuthProvider();
    await using client = world.clientWith(other);
    await client.ensureSession().catch(() => undefined);
    await client.finishAuth(await world.oauth.logIn(other.redirects[0]?.href ?? ""));
    const tools = nextTools(mcp);
    provider.saveTokens(other.tokens() ?? { access_token: "", token_type: "Bearer" });
    expect(await tools).toEqual(["srv__echo", "srv__erase"]);
    expect(provider.redirects).toHaveLength(1);
  });

  it("starts no login either where only tools/list requires a token", async () => {
    await using server = await startMcpTestServer();
    const challenge = { "www-authenticate": "Bearer" };
    server.addFault({ type: "status", status: 401, headers: challenge }, { method: "tools/list" });
    await using world = await startProtectedServer();
    const provider = new CountingProvider();
    Object.assign(provider, {
      discoveryState: () => ({ authorizationServerUrl: world.oauth.origin }),
      saveDiscoveryState: () => undefined,
    });
    await using _ = await createOptional(server.url, { auth: provider, allowAddress: () => true });
    await provider.severalRequests();
    expect(provider.redirects).toHaveLength(1);
    expect(world.oauth.tokenRequests).toEqual([]);
  });

  it("refreshes an expired token, and is added", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using mcp = await createOptional(world.oauth.url, { auth: provider });
    expect(mcp.servers.errors.get("srv")).toMatchObject({ kind: "server-error" });
    const tools = nextTools(mcp);
    world.oauth.revokeAccessTokens();
    repair();
    expect(await tools).toEqual(["srv__echo", "srv__erase"]);
    expect(provider.redirects).toHaveLength(1);
  });

  it("tries a refresh token that is rejected once, and keeps the tokens", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using _ = await createOptional(world.oauth.url, { auth: provider });
    const before = world.oauth.tokenRequests.length;
    const tokens = provider.tokens();
    world.oauth.revokeAccessTokens();
    world.oauth.revokeRefreshTokens();
    repair();
    await eventually(() => world.oauth.tokenRequests.length > before);
    await provider.severalRequests();
    expect(world.oauth.tokenRequests).toHaveLength(before + 1);
    expect(provider.tokens()).toEqual(tokens);
    expect(provider.redirects).toHaveLength(1);
  });

  it("starts the login of a call that waits for such a refresh", async () => {
    await using world = await startProtectedServer();
    const provider = await createLoggedInProvider(world);
    const repair = world.mcp.addFault({ type: "status", status: 500 }, { method: "initialize" });
    await using mcp = await createOptional(world.oauth.url, { auth: provider });
    const before = world.oauth.tokenRequests.length;
    world.oauth.tokenDelayMs = 200;
    world.oauth.revokeAccessTokens();
    world.oauth.revokeRefreshTokens();
    repair();
    await eventually(() => world.oauth.tokenRequests.length > before);
    const call = mcp.servers.clients.get("srv")?.callTool({ name: "echo" });
    const { authorizationUrl } = await rejection(Promise.resolve(call));
    expect(provider.redirects).toHaveLength(2);
    expect(authorizationUrl).toBe(provider.redirects[1]?.href);
  });

  it("is added when a function returns a token that is accepted", async () => {
    await using world = await startProtectedServer();
    const machine = world.machine();
    await using client = world.clientWith(machine as OAuthProvider);
    await client.ensureSession();
    let token = "expired-Token-0";
    await using mcp = await createOptional(world.oauth.url, { identity: () => "bot", auth: () => token });
    expect(mcp.servers.errors.get("srv")).toMatchObject({ kind: "unauthorized" });
    const tools = nextTools(mcp);
    token = machine.tokens()?.access_token ?? "";
    expect(await tools).toEqual(["srv__echo", "srv__erase"]);
  });

  it("requests machine tokens again, and is added when the authorization server is back", async () => {
    await using world = await startProtectedServer();
    world.oauth.isDown = true;
    await using mcp = await createOptional(world.oauth.url, {
      auth: world.machine() as OAuthProvider,
    });
    expect(mcp.servers.errors.get("srv")).toMatchObject({ kind: "unauthorized" });
    const tools = nextTools(mcp);
    world.oauth.isDown = false;
    expect(await tools).toEqual(["srv__echo", "srv__erase"]);
  });
});
