import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { describe, expect, it } from "vitest";
import { McpClient, type OAuthProvider } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, failureOf, ONCE, times } from "../../fixtures/clients.js";
import { DpopCheck } from "../../fixtures/dpop-check.js";
import { MemoryOAuthProvider, RememberingOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { WebSocketHost } from "../../fixtures/websocket-server.js";

async function start(check?: DpopCheck) {
  const mcp = await startMcpTestServer({ responseFormat: "json" });
  const oauth = await OAuthServer.start(mcp.url);
  oauth.dpop = check;
  const machine = () =>
    new ClientCredentialsProvider({
      clientId: "m",
      clientSecret: "hush-Hush-1",
      expectedIssuer: oauth.origin,
    });
  return {
    mcp,
    oauth,
    machine,
    clientWith: (auth: OAuthProvider, more: object = {}) =>
      new McpClient({ name: "crm", ...ONCE, url: oauth.url, auth, ...more }),
    async [Symbol.asyncDispose]() {
      await oauth[Symbol.asyncDispose]();
      await mcp.close();
    },
  };
}

describe("tokens that are bound to a key (DPoP)", () => {
  it("are asked for where a server wants them, and each request proves the key anew", async () => {
    const check = new DpopCheck();
    await using world = await start(check);
    await using client = world.clientWith(world.machine());
    expect((await client.callTool(echo("one"))).text()).toBe("one");
    const answers = await Promise.all(times(3, (n) => client.callTool(echo(`${n}`))));
    expect(answers.map((answer) => answer.text())).toEqual(["0", "1", "2"]);
    const { url, origin } = world.oauth;
    expect(check.proofs[0]).toBe(`${origin}/token`);
    expect(world.oauth.tokenRequests).toHaveLength(1);
    expect(check.proofs.filter((address) => address === url)).toHaveLength(world.mcp.requests.length);
  });

  it("a nonce that a server wants is put into the proof, once for each of them, and kept up with", async () => {
    const check = new DpopCheck();
    check.nonce = "nonce-1";
    await using world = await start(check);
    await using client = world.clientWith(world.machine());
    expect((await client.callTool(echo("one"))).text()).toBe("one");
    expect(world.oauth.tokenRequests).toHaveLength(2);
    check.nonce = "nonce-2";
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(world.oauth.tokenRequests).toHaveLength(2);
    expect(world.mcp.executions).toHaveLength(2);
  });

  it("a nonce that is never the right one ends in a failure, not in a loop", async () => {
    const check = new DpopCheck();
    await using world = await start(check);
    await using client = world.clientWith(world.machine());
    await client.callTool(echo());
    Object.defineProperty(check, "nonce", { get: () => `nonce-${Math.random()}` });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.mcp.executions).toHaveLength(1);
  });

  it.each([
    [1, true],
    [9, false],
  ])("a proof that is refused %i times is made anew once, and the token stays", async (refusals, ok) => {
    const check = new DpopCheck();
    await using world = await start(check);
    await using client = world.clientWith(world.machine());
    await client.callTool(echo());
    check.rejections = refusals;
    expect((await client.tryCallTool(echo("again"))).ok).toBe(ok);
    expect(world.oauth.tokenRequests).toHaveLength(1);
    expect(check.rejections).toBe(Math.max(refusals - 2, 0));
  });

  it.each(["invalid_token", "invalid_dpop_proof"])(
    "one that is bound to the key of another process, which a server calls %s, is replaced once",
    async (mismatch) => {
      const check = new DpopCheck();
      check.mismatch = mismatch;
      await using world = await start(check);
      const provider = world.machine();
      await using before = world.clientWith(provider);
      await before.callTool(echo());
      await using client = world.clientWith(provider);
      const answers = await Promise.all(times(3, (n) => client.callTool(echo(`${n}`))));
      expect(answers.map((answer) => answer.text())).toEqual(["0", "1", "2"]);
      expect(world.oauth.tokenRequests).toHaveLength(2);
    },
  );

  it("one of another process stays while a server only wants another nonce", async () => {
    const check = new DpopCheck();
    await using world = await start(check);
    const provider = world.machine();
    await using before = world.clientWith(provider);
    await before.callTool(echo());
    await using client = world.clientWith(provider);
    check.nonceRequests = 2;
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("one of another process that helps nothing when it is replaced ends in a failure, not in a loop", async () => {
    const check = new DpopCheck();
    await using world = await start(check);
    const provider = world.machine();
    await using before = world.clientWith(provider);
    await before.callTool(echo());
    await using client = world.clientWith(provider);
    check.rejections = 9;
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unauthorized", status: 401 });
    expect(world.oauth.tokenRequests).toHaveLength(2);
    expect(check.rejections).toBe(6);
  });

  it("work after the client was closed and used again: the key is the client's", async () => {
    await using world = await start(new DpopCheck());
    await using client = world.clientWith(world.machine());
    await client.callTool(echo("one"));
    await client.close();
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("people who log in get them, also when they are refreshed", async () => {
    const check = new DpopCheck();
    await using world = await start(check);
    const provider = new MemoryOAuthProvider();
    await using client = world.clientWith(provider);
    const { authorizationUrl } = await failureOf(client.callTool(echo()));
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

  it("also those whose provider remembers what the servers have said", async () => {
    const check = new DpopCheck();
    check.scheme = "Bearer";
    check.resourceMetadata = { dpop_bound_access_tokens_required: true };
    await using world = await start(check);
    const provider = new RememberingOAuthProvider();
    await using client = world.clientWith(provider);
    const { authorizationUrl } = await failureOf(client.callTool(echo()));
    await client.finishAuth(await world.oauth.logIn(authorizationUrl ?? ""));
    expect(provider.tokens()?.token_type).toBe("DPoP");
  });

  it("a request that is sent on within a server proves the key anew", async () => {
    await using world = await start(new DpopCheck());
    await using client = world.clientWith(world.machine());
    await client.callTool(echo());
    const elsewhere = { location: `${world.oauth.url}?again` };
    world.mcp.addFault(
      { type: "status", status: 307, headers: elsewhere },
      { method: "tools/call", times: 1 },
    );
    expect((await client.callTool(echo("sent on"))).text()).toBe("sent on");
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it("a WebSocket is opened with them, too, and with the nonce that is wanted", async () => {
    const check = new DpopCheck();
    check.nonce = "nonce-1";
    await using mcp = await startMcpTestServer({});
    let url = "";
    await using host = await WebSocketHost.serve(mcp, {
      verifyClient: ({ req }, done) => {
        const key = check.keyOf(req);
        const refusal = check.refusalOf(req, { url, token: "Token-1", key: key ?? "none" });
        const challenge = { "www-authenticate": `DPoP error="${refusal}"`, "dpop-nonce": "nonce-1" };
        done(refusal === undefined, 401, refusal, challenge);
      },
    });
    url = host.url.replace("ws:", "http:");
    const auth = Object.assign(new MemoryOAuthProvider(), {
      tokens: () => ({ access_token: "Token-1", token_type: "DPoP" }),
    });
    await using client = new McpClient({ name: "crm", ...ONCE, url: host.url, auth });
    expect((await client.callTool(echo("open"))).text()).toBe("open");
    expect(host.upgrades[0]?.headers.authorization).toBe("DPoP Token-1");
  });

  it.each([
    ["the resource's metadata says so", { dpop_bound_access_tokens_required: true }, "ES256", "DPoP"],
    ["the resource takes both", { dpop_signing_alg_values_supported: ["ES256"] }, "ES256", "DPoP"],
    ["nobody asks for them", {}, "ES256", "Bearer"],
    [
      "the authorization server cannot check our key",
      { dpop_bound_access_tokens_required: true },
      "RS256",
      "Bearer",
    ],
  ])("when %s", async (_, resourceMetadata, algorithm, type) => {
    const check = new DpopCheck();
    check.scheme = "Bearer";
    check.resourceMetadata = resourceMetadata;
    check.serverMetadata = { dpop_signing_alg_values_supported: [algorithm] };
    await using world = await start(check);
    const provider = world.machine();
    await using client = world.clientWith(provider);
    await client.callTool(echo());
    expect(provider.tokens()?.token_type).toBe(type);
  });

  it("never with dpop: false, and always with dpop: true", async () => {
    await using world = await start(new DpopCheck());
    const never = world.machine();
    await using without = world.clientWith(never, { dpop: false });
    await without.callTool(echo());
    expect(never.tokens()?.token_type).toBe("Bearer");
    await using bound = world.clientWith(never, { dpop: true });
    // The one that is there is not bound, so it is not used.
    await bound.callTool(echo());
    expect(never.tokens()?.token_type).toBe("DPoP");
  });

  it("with dpop: true, a token that is not bound is not taken", async () => {
    await using world = await start();
    const provider = world.machine();
    await using client = world.clientWith(provider, { dpop: true });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized" });
    expect(failure.message).toContain("not bound to a key of ours (DPoP)");
    expect(provider.tokens()).toBeUndefined();
    expect(world.mcp.executions).toEqual([]);
  });

  it("with dpop: true, a token of a function cannot be used, and no auth is a mistake", async () => {
    const identity = () => "ann";
    const url = "http://127.0.0.1:9/mcp";
    await using client = new McpClient({
      name: "crm",
      ...ONCE,
      url,
      identity,
      auth: () => "token",
      dpop: true,
    });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "invalid-config" });
    expect(() => new McpClient({ name: "crm", url, dpop: true })).toThrow("dpop: is for tokens of OAuth");
  });
});
