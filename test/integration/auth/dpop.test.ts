import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, rejection, times } from "../../fixtures/clients.js";
import { DpopValidator } from "../../fixtures/dpop-validator.js";
import { MemoryOAuthProvider, DiscoveryCachingOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

describe("DPoP-bound tokens", () => {
  it("are requested when a server requires them, and each request has its own proof", async () => {
    const check = new DpopValidator();
    await using world = await startProtectedServer(check);
    await using client = world.clientWith(world.machine());
    expect((await client.callTool(echo("one"))).text()).toBe("one");
    const results = await Promise.all(times(3, (n) => client.callTool(echo(`${n}`))));
    expect(results.map((result) => result.text())).toEqual(["0", "1", "2"]);
    const { url, origin } = world.oauth;
    expect(check.proofs[0]).toBe(`${origin}/token`);
    expect(world.oauth.tokenRequests).toHaveLength(1);
    expect(check.proofs.filter((address) => address === url)).toHaveLength(world.mcp.requests.length);
  });

  it("a nonce that a server requires is added to the proof and updated", async () => {
    const check = new DpopValidator();
    check.nonce = "nonce-1";
    await using world = await startProtectedServer(check);
    await using client = world.clientWith(world.machine());
    expect((await client.callTool(echo("one"))).text()).toBe("one");
    expect(world.oauth.tokenRequests).toHaveLength(2);
    check.nonce = "nonce-2";
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(world.oauth.tokenRequests).toHaveLength(2);
    expect(world.mcp.executions).toHaveLength(2);
  });

  it("a nonce that is never accepted results in an error, not in a loop", async () => {
    const check = new DpopValidator();
    await using world = await startProtectedServer(check);
    await using client = world.clientWith(world.machine());
    await client.callTool(echo());
    Object.defineProperty(check, "nonce", { get: () => `nonce-${Math.random()}` });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.mcp.executions).toHaveLength(1);
  });

  it.each([
    [1, true],
    [9, false],
  ])(
    "a proof that is rejected %i times is created again once, and the token is kept",
    async (rejections, ok) => {
      const check = new DpopValidator();
      await using world = await startProtectedServer(check);
      await using client = world.clientWith(world.machine());
      await client.callTool(echo());
      check.rejectNext = rejections;
      expect((await client.tryCallTool(echo("again"))).ok).toBe(ok);
      expect(world.oauth.tokenRequests).toHaveLength(1);
      expect(check.rejectNext).toBe(Math.max(rejections - 2, 0));
    },
  );

  it.each(["invalid_token", "invalid_dpop_proof"])(
    "a token bound to the key of another process, rejected with %s, is replaced once",
    async (mismatch) => {
      const check = new DpopValidator();
      check.keyMismatchError = mismatch;
      await using world = await startProtectedServer(check);
      const provider = world.machine();
      await using before = world.clientWith(provider);
      await before.callTool(echo());
      await using client = world.clientWith(provider);
      const results = await Promise.all(times(3, (n) => client.callTool(echo(`${n}`))));
      expect(results.map((result) => result.text())).toEqual(["0", "1", "2"]);
      expect(world.oauth.tokenRequests).toHaveLength(2);
    },
  );

  it("a token of another process is kept while a server only requires another nonce", async () => {
    const check = new DpopValidator();
    await using world = await startProtectedServer(check);
    const provider = world.machine();
    await using before = world.clientWith(provider);
    await before.callTool(echo());
    await using client = world.clientWith(provider);
    check.requestNonceNext = 2;
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("replacing a token of another process without success results in an error, not in a loop", async () => {
    const check = new DpopValidator();
    await using world = await startProtectedServer(check);
    const provider = world.machine();
    await using before = world.clientWith(provider);
    await before.callTool(echo());
    await using client = world.clientWith(provider);
    check.rejectNext = 9;
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.oauth.tokenRequests).toHaveLength(2);
    expect(check.rejectNext).toBe(6);
  });

  it("work after the client was closed and used again, because the client keeps the key", async () => {
    await using world = await startProtectedServer(new DpopValidator());
    await using client = world.clientWith(world.machine());
    await client.callTool(echo("one"));
    await client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("are issued for a login and when refreshed", async () => {
    const check = new DpopValidator();
    await using world = await startProtectedServer(check);
    const provider = new MemoryOAuthProvider();
    await using client = world.clientWith(provider);
    const { authorizationUrl } = await rejection(client.callTool(echo()));
    await client.finishAuth(await world.oauth.logIn(authorizationUrl ?? ""));
    expect((await client.callTool(echo("in"))).text()).toBe("in");
    expect(provider.tokens()?.token_type).toBe("DPoP");
    world.oauth.revokeAccessTokens();
    expect((await client.callTool(echo("again"))).text()).toBe("again");
    expect(world.oauth.tokenRequests.map((params) => params.get("grant_type"))).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
  });

  it("are issued for a login with a provider that caches the discovery state", async () => {
    const check = new DpopValidator();
    check.challengeScheme = "Bearer";
    check.resourceMetadata = { dpop_bound_access_tokens_required: true };
    await using world = await startProtectedServer(check);
    const provider = new DiscoveryCachingOAuthProvider();
    await using client = world.clientWith(provider);
    const { authorizationUrl } = await rejection(client.callTool(echo()));
    await client.finishAuth(await world.oauth.logIn(authorizationUrl ?? ""));
    expect(provider.tokens()?.token_type).toBe("DPoP");
  });

  it("a request that is redirected within the origin has a new proof", async () => {
    await using world = await startProtectedServer(new DpopValidator());
    await using client = world.clientWith(world.machine());
    await client.callTool(echo());
    const headers = { location: `${world.oauth.url}?again` };
    world.mcp.addFault({ type: "status", status: 307, headers }, { method: "tools/call", times: 1 });
    expect((await client.callTool(echo("redirected"))).text()).toBe("redirected");
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("a WebSocket upgrade uses them with the required nonce", async () => {
    const check = new DpopValidator();
    check.nonce = "nonce-1";
    await using mcp = await startMcpTestServer({});
    let url = "";
    await using host = await WebSocketTestServer.serve(mcp, {
      verifyClient: ({ req }, done) => {
        const key = check.getProofKey(req);
        const refusal = check.validate(req, { url, token: "Token-1", key: key ?? "none" });
        const challenge = { "www-authenticate": `DPoP error="${refusal}"`, "dpop-nonce": "nonce-1" };
        done(refusal === undefined, 401, refusal, challenge);
      },
    });
    url = host.url.replace("ws:", "http:");
    const auth = Object.assign(new MemoryOAuthProvider(), {
      tokens: () => ({ access_token: "Token-1", token_type: "DPoP" }),
    });
    await using client = createTestClient(host, { auth });
    expect((await client.callTool(echo("open"))).text()).toBe("open");
    expect(host.upgrades[0]?.headers.authorization).toBe("DPoP Token-1");
  });

  it.each([
    ["the resource metadata requires them", { dpop_bound_access_tokens_required: true }, "ES256", "DPoP"],
    ["the resource accepts both", { dpop_signing_alg_values_supported: ["ES256"] }, "ES256", "DPoP"],
    ["they are not requested", {}, "ES256", "Bearer"],
    [
      "the authorization server does not support ES256",
      { dpop_bound_access_tokens_required: true },
      "RS256",
      "Bearer",
    ],
  ])("are issued as expected when %s", async (_, resourceMetadata, algorithm, type) => {
    const check = new DpopValidator();
    check.challengeScheme = "Bearer";
    check.resourceMetadata = resourceMetadata;
    check.serverMetadata = { dpop_signing_alg_values_supported: [algorithm] };
    await using world = await startProtectedServer(check);
    const provider = world.machine();
    await using client = world.clientWith(provider);
    await client.callTool(echo());
    expect(provider.tokens()?.token_type).toBe(type);
  });

  it("are never requested with dpop: false and always with dpop: true", async () => {
    await using world = await startProtectedServer(new DpopValidator());
    const never = world.machine();
    await using without = world.clientWith(never, { dpop: false });
    await without.callTool(echo());
    expect(never.tokens()?.token_type).toBe("Bearer");
    await using bound = world.clientWith(never, { dpop: true });
    // The existing token is not bound, so it is not used.
    await bound.callTool(echo());
    expect(never.tokens()?.token_type).toBe("DPoP");
  });

  it("with dpop: true, an unbound token is rejected", async () => {
    await using world = await startProtectedServer();
    const provider = world.machine();
    await using client = world.clientWith(provider, { dpop: true });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized" });
    expect(failure.message).toContain("not bound to this client's key (DPoP)");
    expect(provider.tokens()).toBeUndefined();
    expect(world.mcp.executions).toEqual([]);
  });

  it("dpop: true is invalid with a token from a function or without auth", async () => {
    const identity = () => "ann";
    const url = "http://127.0.0.1:9/mcp";
    await using client = createTestClient(url, { identity, auth: () => "token", dpop: true });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "invalid-config" });
    const { issues } = catchConfigError(() => new McpClient({ name: "crm", url, dpop: true }));
    expect(issues).toMatchObject([{ path: "dpop" }]);
  });
});
