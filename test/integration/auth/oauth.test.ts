import { generateKeyPairSync } from "node:crypto";
import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { describe, expect, it } from "vitest";
import { type CallContext, McpClient } from "../../../src/index.js";
import { echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { MemoryOAuthProvider, DiscoveryCachingOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** Creates a client whose user has logged in. */
async function logIn(
  { oauth, clientWith }: Awaited<ReturnType<typeof startProtectedServer>>,
  clock?: FakeClock,
) {
  const provider = new MemoryOAuthProvider();
  const client = clientWith(provider, {}, { clock });
  const { authorizationUrl } = await rejection(client.callTool(echo()));
  await client.finishAuth(await oauth.logIn(authorizationUrl ?? ""));
  return { client, provider };
}

describe("a server that requires an OAuth token", () => {
  it("requires a login, accepts the code, and then the call works", async () => {
    await using world = await startProtectedServer();
    const provider = new MemoryOAuthProvider();
    await using client = world.clientWith(provider);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized", status: 401, outcomeUnknown: false });
    expect(failure.message).toContain("finishAuth");
    expect(failure.authorizationUrl).toBe(provider.redirects[0]?.href);
    await client.finishAuth(await world.oauth.logIn(failure.authorizationUrl ?? ""));
    expect((await client.callTool(echo("in"))).text()).toBe("in");
    expect(world.mcp.received("initialize")).toHaveLength(1);
  });

  it("rejects a code of another issuer, also with a provider that caches the discovery state", async () => {
    await using world = await startProtectedServer();
    await using client = world.clientWith(new DiscoveryCachingOAuthProvider());
    const { authorizationUrl } = await rejection(client.callTool(echo()));
    const code = await world.oauth.logIn(authorizationUrl ?? "");
    const finish = (iss: string) => client.finishAuth(new URLSearchParams({ code, iss }));
    const failure = await rejection(finish("https://evil.example"));
    expect(failure.kind).toBe("unauthorized");
    expect(failure.message).toContain("another authorization server");
    expect(world.oauth.tokenRequests).toEqual([]);
    await finish(world.oauth.origin);
    expect((await client.callTool(echo("in"))).text()).toBe("in");
  });

  it("ten calls rejected at once renew the token once, and all of them succeed", async () => {
    await using world = await startProtectedServer();
    const { client } = await logIn(world);
    await using _ = client;
    await client.callTool(echo());
    const before = world.oauth.tokenRequests.length;
    world.oauth.revokeAccessTokens();
    world.oauth.tokenDelayMs = 50;
    const results = await Promise.all(times(10, (n) => client.callTool(echo(`call ${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(10, (n) => `call ${n}`));
    expect(world.oauth.tokenRequests.slice(before).map((params) => params.get("grant_type"))).toEqual([
      "refresh_token",
    ]);
    expect(world.mcp.received("initialize")).toHaveLength(1);
    expect(world.mcp.executions).toHaveLength(11);
  });

  it("each revoked token is renewed once", async () => {
    await using world = await startProtectedServer();
    const { client } = await logIn(world);
    await using _ = client;
    await client.callTool(echo());
    for (const n of times(3, (i) => i)) {
      world.oauth.revokeAccessTokens();
      expect((await client.callTool(echo(`${n}`))).text()).toBe(`${n}`);
    }
    const grants = world.oauth.tokenRequests.map((params) => params.get("grant_type"));
    expect(grants).toEqual(["authorization_code", "refresh_token", "refresh_token", "refresh_token"]);
  });

  it("an invalid refresh token leads to a new login", async () => {
    await using world = await startProtectedServer();
    const { client, provider } = await logIn(world);
    await using _ = client;
    world.oauth.revokeAccessTokens();
    world.oauth.revokeRefreshTokens();
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized", authorizationUrl: provider.redirects[1]?.href });
    await client.finishAuth(await world.oauth.logIn(failure.authorizationUrl ?? ""));
    expect((await client.callTool(echo("again"))).text()).toBe("again");
  });

  it("a wider scope is requested only when a call needs it", async () => {
    await using world = await startProtectedServer();
    const { client } = await logIn(world);
    await using _ = client;
    world.oauth.requiredScopes.set("erase", "write");
    expect((await client.callTool(echo("fine"))).text()).toBe("fine");
    const failure = await rejection(client.callTool({ name: "erase" }));
    expect(failure).toMatchObject({ kind: "unauthorized", status: 403 });
    expect(new URL(failure.authorizationUrl ?? "").searchParams.get("scope")).toBe("basic write");
    await client.finishAuth(await world.oauth.logIn(failure.authorizationUrl ?? ""));
    expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
  });

  it("a wider scope includes the current one, also when the server names only what is missing", async () => {
    await using world = await startProtectedServer();
    const { client } = await logIn(world);
    await using _ = client;
    world.oauth.namesMissingScopeOnly = true;
    world.oauth.requiredScopes.set("erase", "write");
    const scopes: (string | null)[] = [];
    const stepUp = async () => {
      const failure = await rejection(client.callTool({ name: "erase" }));
      const { authorizationUrl = "" } = failure;
      scopes.push(new URL(authorizationUrl).searchParams.get("scope"));
      await client.finishAuth(await world.oauth.logIn(authorizationUrl));
    };
    await stepUp();
    expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
    world.oauth.requiredScopes.set("erase", "admin");
    await stepUp();
    expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
    expect(scopes).toEqual(["basic write", "basic write admin"]);
  });

  it.each([
    ["without a scope", { scope: undefined }],
    ["with an empty scope", { scope: "" }],
  ])("a wider scope includes that of a token response %s, also in another process", async (_, fields) => {
    await using world = await startProtectedServer();
    world.oauth.tokenFields = fields;
    world.oauth.namesMissingScopeOnly = true;
    world.oauth.requiredScopes.set("echo", "basic");
    const provider = Object.assign(new MemoryOAuthProvider(), {
      clientMetadata: { redirect_uris: [], client_name: "test", scope: "basic" },
    });
    const requireScope = async (scope: string) => {
      world.oauth.requiredScopes.set("erase", scope);
      await using client = world.clientWith(provider);
      const { authorizationUrl = "" } = await rejection(client.callTool({ name: "erase" }));
      await client.finishAuth(await world.oauth.logIn(authorizationUrl));
      expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
      return new URL(authorizationUrl).searchParams.get("scope");
    };
    expect(await requireScope("basic")).toBe("basic");
    expect(await requireScope("write")).toBe("basic write");
    // A refreshed token has the scope of the one before.
    world.oauth.revokeAccessTokens();
    await using client = world.clientWith(provider);
    await client.callTool(echo());
    expect(world.oauth.tokenRequests.at(-1)?.get("grant_type")).toBe("refresh_token");
    expect(await requireScope("admin")).toBe("basic write admin");
  });

  it.each(["client credentials", "a private key JWT"])(
    "a wider scope is requested with %s",
    async (grant) => {
      await using world = await startProtectedServer();
      world.oauth.namesMissingScopeOnly = true;
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const options = { clientId: "machine", expectedIssuer: world.oauth.origin, scope: "basic" };
      const provider =
        grant === "client credentials"
          ? new ClientCredentialsProvider({ ...options, clientSecret: "hush-Hush-1" })
          : new PrivateKeyJwtProvider({
              ...options,
              privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
              algorithm: "ES256",
            });
      const requireScope = async (scope: string) => {
        world.oauth.requiredScopes.set("erase", scope);
        await using client = world.clientWith(provider);
        expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
      };
      await requireScope("write");
      world.oauth.tokenFields = { scope: undefined };
      await requireScope("admin");
      await requireScope("owner");
      expect(world.oauth.tokenRequests.map((params) => params.get("scope"))).toEqual([
        "basic",
        "basic write",
        "basic write admin",
        "basic write admin owner",
      ]);
    },
  );

  it("a scope that is never sufficient results in an error, not in a loop", async () => {
    await using world = await startProtectedServer();
    const provider = world.machine();
    await using client = world.clientWith(provider);
    await client.callTool(echo());
    world.oauth.requiredScopes.set("erase", "write");
    world.oauth.ignoresRequestedScope = true;
    const before = world.oauth.tokenRequests.length;
    expect(await rejection(client.callTool({ name: "erase" }))).toMatchObject({
      kind: "unauthorized",
      status: 403,
    });
    expect(world.oauth.tokenRequests.length - before).toBe(1);
    expect(world.mcp.executions.map(({ tool }) => tool)).toEqual(["echo"]);
  });

  it("client credentials and private key JWTs of the SDK need no login", async () => {
    await using world = await startProtectedServer();
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const providers = [
      world.machine(),
      new PrivateKeyJwtProvider({
        clientId: "machine",
        privateKey: pem,
        algorithm: "ES256",
        expectedIssuer: world.oauth.origin,
      }),
    ];
    for (const provider of providers) {
      await using client = world.clientWith(provider);
      expect((await client.callTool(echo("machine"))).text()).toBe("machine");
    }
  });

  it("an unavailable authorization server is reported without secrets", async () => {
    await using world = await startProtectedServer();
    const provider = world.machine();
    await using client = world.clientWith(provider);
    world.oauth.isDown = true;
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({
      kind: "unauthorized",
      outcomeUnknown: false,
      cause: { name: "TemporarilyUnavailableError" },
    });
    expect(JSON.stringify(failure)).not.toContain("hush-Hush-1");
    world.oauth.isDown = false;
    expect((await client.callTool(echo("up"))).text()).toBe("up");
  });

  it("each user logs in separately", async () => {
    await using world = await startProtectedServer();
    const providers = new Map(["alice", "bob"].map((user) => [user, new MemoryOAuthProvider()]));
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = world.clientWith((context) => providers.get(userOf(context)) ?? "", {
      identity: userOf,
    });
    const alice = { context: { configurable: { user: "alice" } } };
    const bob = { context: { configurable: { user: "bob" } } };
    const { authorizationUrl } = await rejection(client.callTool(echo(), alice));
    await client.finishAuth(await world.oauth.logIn(authorizationUrl ?? ""), alice);
    expect((await client.callTool(echo("alice"), alice)).text()).toBe("alice");
    expect(await rejection(client.callTool(echo(), bob))).toMatchObject({ kind: "unauthorized" });
    expect(providers.get("bob")?.tokens()).toBeUndefined();
  });

  it("closing during a renewal fails the call as closed", async () => {
    await using world = await startProtectedServer();
    const clock = new FakeClock();
    const { client } = await logIn(world, clock);
    await client.callTool(echo());
    world.oauth.revokeAccessTokens();
    world.oauth.tokenDelayMs = 60_000;
    const call = rejection(client.callTool(echo()));
    const before = world.oauth.tokenRequests.length;
    await eventually(() => world.oauth.tokenRequests.length > before);
    await clock.advanceUntilSettled(client.close(), 1_000);
    expect(await call).toMatchObject({ kind: "closed" });
  });

  it.each(["", undefined as never])("a login without a code is rejected: %j", async (code) => {
    await using client = new McpClient({
      name: "crm",
      url: "http://x.test",
      auth: new MemoryOAuthProvider(),
    });
    expect(await rejection(client.finishAuth(code))).toMatchObject({ kind: "invalid-config" });
  });

  it("a login for a server without auth is rejected", async () => {
    await using client = new McpClient({ name: "crm", url: "http://x.test" });
    expect(await rejection(client.finishAuth("code"))).toMatchObject({ kind: "invalid-config" });
  });
});
