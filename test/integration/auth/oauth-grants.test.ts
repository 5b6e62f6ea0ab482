import { describe, expect, it } from "vitest";
import type { AuthGrant, CallContext } from "../../../src/index.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { IdentityProvider } from "../../fixtures/identity-provider.js";
import { createSigningKey, signJwt } from "../../fixtures/jwt.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** A protected server that trusts an identity provider, and the grants of that provider. */
async function start() {
  const server = await startProtectedServer();
  const { oauth } = server;
  const idp = await IdentityProvider.start();
  oauth.trustedKey = idp.key.publicKey;
  const { tokenEndpoint } = idp;
  const world = {
    mcp: server.mcp,
    oauth,
    clientWith: server.clientWith,
    idp,
    workload: (more: object = {}): AuthGrant => ({
      grant: "jwt-bearer",
      issuer: oauth.origin,
      assertion: idp.issueWorkloadToken(oauth.origin),
      ...more,
    }),
    managed: (idToken: string): AuthGrant => ({
      grant: "enterprise-managed",
      issuer: oauth.origin,
      clientId: "crm-client",
      clientSecret: "hush-Hush-2",
      idToken,
      identityProvider: { tokenEndpoint, clientId: "agents", clientSecret: "hush-Hush-3" },
    }),
    grants: () => oauth.tokenRequests.map((params) => params.get("grant_type")),
  };
  return disposeWith(world, idp, server);
}

describe("a workload with a JWT of its platform (jwt-bearer)", () => {
  it("gets a token for it and reuses the token while it is valid", async () => {
    await using world = await start();
    await using client = world.clientWith(world.workload({ clientId: "job", scope: "basic more" }));
    expect((await client.callTool(echo("one"))).text()).toBe("one");
    expect((await client.callTool(echo("two"))).text()).toBe("two");
    const [params] = world.oauth.tokenRequests;
    expect(Object.fromEntries(params ?? [])).toEqual({
      grant_type: JWT_BEARER,
      assertion: expect.stringMatching(/^ey/),
      client_id: "job",
      scope: "basic more",
      resource: world.oauth.url,
    });
    expect(world.grants()).toEqual([JWT_BEARER]);
  });

  it("ten calls rejected at once request one token with a fresh JWT", async () => {
    await using world = await start();
    const abortedStates: boolean[] = [];
    const assertion = async ({ signal }: { readonly signal: AbortSignal }) => {
      abortedStates.push(signal.aborted);
      return `${world.idp.issueWorkloadToken(world.oauth.origin, { jti: abortedStates.length })}\n`;
    };
    await using client = world.clientWith(world.workload({ assertion }));
    await client.callTool(echo());
    world.oauth.revokeAccessTokens();
    world.oauth.tokenDelayMs = 20;
    const results = await Promise.all(times(10, (n) => client.callTool(echo(`${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(10, (n) => `${n}`));
    expect(abortedStates).toEqual([false, false]);
    const [first, second] = world.oauth.tokenRequests.map((params) => params.get("assertion"));
    expect(first).not.toBe(second);
  });

  it("requests the scope that the server requires when none is configured", async () => {
    await using world = await start();
    world.oauth.requiredScopes.set("erase", "write");
    await using unscoped = world.clientWith(world.workload());
    expect((await unscoped.callTool({ name: "erase" })).text()).toBe("erased");
    expect(world.oauth.tokenRequests.map((params) => params.get("scope"))).toEqual([null, "basic write"]);
    await using scoped = world.clientWith(world.workload({ scope: "basic" }));
    expect(await rejection(scoped.callTool({ name: "erase" }))).toMatchObject({
      kind: "unauthorized",
      status: 403,
    });
  });

  it("requests a wider scope in addition to its current one, when the server names only what is missing", async () => {
    await using world = await start();
    world.oauth.namesMissingScopeOnly = true;
    await using client = world.clientWith(world.workload());
    for (const scope of ["write", "admin"]) {
      world.oauth.requiredScopes.set("erase", scope);
      expect((await client.callTool({ name: "erase" })).text()).toBe("erased");
    }
    expect(world.oauth.tokenRequests.map((params) => params.get("scope"))).toEqual([
      null,
      "basic write",
      "basic write admin",
    ]);
  });

  it("gets an error with the reason and without secrets, and is not retried", async () => {
    await using world = await start();
    const assertion = signJwt(createSigningKey(), { aud: world.oauth.origin, exp: 1 });
    const grant = world.workload({ assertion, clientId: "job", clientSecret: "hush-Hush-1" });
    await using client = world.clientWith(grant);
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized", outcomeUnknown: false });
    expect(failure.message).toContain("invalid_grant");
    expect(failure.authorizationUrl).toBeUndefined();
    expect(world.grants()).toEqual([JWT_BEARER]);
    for (const secret of [assertion, "hush-Hush-1"]) expect(JSON.stringify(failure)).not.toContain(secret);
  });

  it.each([
    [
      "fails",
      () => Promise.reject(new Error("no such file")),
      { cause: { cause: { message: "no such file" } } },
    ],
    ["returns no JWT", () => "not a JWT", { message: expect.stringContaining("auth.assertion returned") }],
  ])("a function that %s sends nothing", async (_, assertion, expected) => {
    await using world = await start();
    await using client = world.clientWith(world.workload({ assertion }));
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized", ...expected });
    expect(world.oauth.tokenRequests).toEqual([]);
  });

  it("a function that never returns times out and is called again", async () => {
    await using world = await start();
    let isReady = false;
    const assertion = () =>
      isReady ? world.idp.issueWorkloadToken(world.oauth.origin) : deferred().promise.then(() => "");
    await using client = world.clientWith(world.workload({ assertion }), { timeouts: { connectMs: 300 } });
    expect((await rejection(client.callTool(echo()))).kind).toMatch(/timeout|unauthorized/);
    isReady = true;
    await eventually(async () => (await client.tryCallTool(echo())).ok);
  });

  it("sends its JWT only to the configured issuer", async () => {
    await using world = await start();
    await using other = await OAuthServer.start(world.mcp.url);
    other.trustedKey = world.idp.key.publicKey;
    // The MCP server names an authorization server of its own.
    await using client = createTestClient(other, { auth: world.workload() });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized" });
    expect(other.tokenRequests).toEqual([]);
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it.each([404, 503])(
    "gets a token for the server's URL only, also without resource metadata (HTTP %i)",
    async (status) => {
      await using world = await start();
      world.oauth.resourceStatus = status;
      await using client = world.clientWith(world.workload());
      await client.callTool(echo());
      expect(world.oauth.tokenRequests.map((params) => params.get("resource"))).toEqual([world.oauth.url]);
    },
  );

  it("does not send its JWT to an http endpoint", async () => {
    await using world = await start();
    world.oauth.metadata = { token_endpoint: "http://auth.example/token" };
    await using client = world.clientWith(world.workload());
    const failure = await rejection(client.callTool(echo()));
    expect(failure.kind).toBe("unauthorized");
    expect(failure.message).toContain("token_endpoint: expected https://");
  });

  it("accepts an issuer without an authorization endpoint", async () => {
    await using world = await start();
    world.oauth.metadata = { authorization_endpoint: undefined, response_types_supported: undefined };
    await using client = world.clientWith(world.workload());
    expect((await client.callTool(echo("in"))).text()).toBe("in");
  });

  it("has no login to finish", async () => {
    await using world = await start();
    await using client = world.clientWith(world.workload());
    expect(await rejection(client.finishAuth("code"))).toMatchObject({ kind: "invalid-config" });
  });
});

describe("a server managed by an enterprise identity provider (enterprise-managed)", () => {
  it("needs no login: the ID token is exchanged for a grant, and the grant for a token", async () => {
    await using world = await start();
    await using client = world.clientWith(world.managed(world.idp.issueIdToken("alice")));
    expect((await client.callTool(echo("in"))).text()).toBe("in");
    const [exchange] = world.idp.exchanges;
    expect(Object.fromEntries(exchange ?? [])).toMatchObject({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      audience: world.oauth.origin,
      resource: world.oauth.url,
      client_id: "agents",
      client_secret: "hush-Hush-3",
    });
    expect(world.grants()).toEqual([JWT_BEARER]);
    const basic = Buffer.from("crm-client:hush-Hush-2").toString("base64");
    expect(world.oauth.tokenAuthorizations).toEqual([`Basic ${basic}`]);
    // The server's authorization server never receives the ID token or the identity provider's secret.
    const sent = String(world.oauth.tokenRequests[0]);
    expect(sent).not.toContain(exchange?.get("subject_token"));
    expect(sent).not.toContain("hush-Hush-3");
  });

  it("each user has separate tokens and a separate session", async () => {
    await using world = await start();
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    const auth = (context: CallContext) => world.managed(world.idp.issueIdToken(userOf(context)));
    await using client = world.clientWith(auth, { identity: userOf });
    for (const user of ["alice", "bob", "alice"])
      await client.callTool(echo(user), { context: { configurable: { user } } });
    expect(world.idp.exchanges).toHaveLength(2);
    expect(world.mcp.received("initialize")).toHaveLength(2);
  });

  it("a rejection by the identity provider is reported with its reason and without secrets", async () => {
    await using world = await start();
    world.idp.deniedAudiences.add(world.oauth.origin);
    const idToken = world.idp.issueIdToken("alice");
    await using client = world.clientWith(world.managed(idToken));
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized" });
    expect(failure.message).toContain("access_denied: not for you");
    expect(world.oauth.tokenRequests).toEqual([]);
    for (const secret of [idToken, "hush-Hush-2", "hush-Hush-3"])
      expect(JSON.stringify(failure)).not.toContain(secret);
  });

  it("the reason of a rejection is limited in length, on one line and without control characters", async () => {
    await using world = await start();
    world.idp.deniedAudiences.add(world.oauth.origin);
    world.idp.denialDescription = `\u001b[31mno\n\n\u202ewell${" no".repeat(5_000)}`;
    await using client = world.clientWith(world.managed(world.idp.issueIdToken("alice")));
    const { message } = await rejection(client.callTool(echo()));
    expect(message).toContain("access_denied: no well no no");
    expect(message.length).toBeLessThan(500);
  });

  it("a function that returns an invalid grant results in an issue with its path", async () => {
    await using world = await start();
    const auth = () => ({ ...world.managed(world.idp.issueIdToken("alice")), issuer: "auth.example" });
    await using client = world.clientWith(auth, { identity: () => "alice" });
    const failure = await rejection(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path: "issuer" }] });
  });
});
