import { describe, expect, it } from "vitest";
import { type AuthGrant, type CallContext, McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, failureOf, gate, ONCE, times } from "../../fixtures/clients.js";
import { IdentityProvider } from "../../fixtures/identity-provider.js";
import { signingKey, signJwt } from "../../fixtures/jwt.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

async function start() {
  const mcp = await startMcpTestServer({
    responseFormat: "json",
    tools: [
      { name: "echo", run: ({ text }) => String(text) },
      { name: "erase", run: () => "erased" },
    ],
  });
  const oauth = await OAuthServer.start(mcp.url);
  const idp = await IdentityProvider.start();
  oauth.trusted = idp.key.publicKey;
  const { tokenEndpoint } = idp;
  return {
    mcp,
    oauth,
    idp,
    clientWith: (auth: AuthGrant) => new McpClient({ name: "crm", ...ONCE, url: oauth.url, auth }),
    workload: (more: object = {}): AuthGrant => ({
      grant: "jwt-bearer",
      issuer: oauth.origin,
      assertion: idp.workloadToken(oauth.origin),
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
    async [Symbol.asyncDispose]() {
      await oauth[Symbol.asyncDispose]();
      await idp[Symbol.asyncDispose]();
      await mcp.close();
    },
  };
}

describe("a workload with a JWT of its platform (jwt-bearer)", () => {
  it("gets a token with it, and uses that one for as long as it is good", async () => {
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

  it("ten calls refused at once ask once, with a JWT that is fresh", async () => {
    await using world = await start();
    const asked: boolean[] = [];
    const assertion = async ({ signal }: { readonly signal: AbortSignal }) => {
      asked.push(signal.aborted);
      return `${world.idp.workloadToken(world.oauth.origin, { jti: asked.length })}\n`;
    };
    await using client = world.clientWith(world.workload({ assertion }));
    await client.callTool(echo());
    world.oauth.revokeAccessTokens();
    world.oauth.tokenDelayMs = 20;
    const answers = await Promise.all(times(10, (n) => client.callTool(echo(`${n}`))));
    expect(answers.map((answer) => answer.text())).toEqual(times(10, (n) => `${n}`));
    expect(asked).toEqual([false, false]);
    const [first, second] = world.oauth.tokenRequests.map((params) => params.get("assertion"));
    expect(first).not.toBe(second);
  });

  it("asks for the rights that the server wants, where none were written down", async () => {
    await using world = await start();
    world.oauth.scopesOfTools.set("erase", "write");
    await using open = world.clientWith(world.workload());
    expect((await open.callTool({ name: "erase" })).text()).toBe("erased");
    expect(world.oauth.tokenRequests.map((params) => params.get("scope"))).toEqual([null, "basic write"]);
    await using bound = world.clientWith(world.workload({ scope: "basic" }));
    expect(await failureOf(bound.callTool({ name: "erase" }))).toMatchObject({
      kind: "unauthorized",
      status: 403,
    });
  });

  it("is told why it gets none, is not tried again, and no secret with it", async () => {
    await using world = await start();
    const assertion = signJwt(signingKey(), { aud: world.oauth.origin, exp: 1 });
    const grant = world.workload({ assertion, clientId: "job", clientSecret: "hush-Hush-1" });
    await using client = world.clientWith(grant);
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized", outcomeUnknown: false });
    expect(failure.message).toContain("none could be got: invalid_grant");
    expect(failure.authorizationUrl).toBeUndefined();
    expect(world.grants()).toEqual([JWT_BEARER]);
    for (const secret of [assertion, "hush-Hush-1"]) expect(JSON.stringify(failure)).not.toContain(secret);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("no such file"))],
    ["gave no JWT", () => "not one"],
  ])("a function that %s sends nothing", async (_, assertion) => {
    await using world = await start();
    await using client = world.clientWith(world.workload({ assertion }));
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized" });
    expect(failure.message).toMatch(/The function auth\.assertion (?:failed: no such file|gave no JWT)/);
    expect(world.oauth.tokenRequests).toEqual([]);
  });

  it("a function that never ends is left alone when time is up, and asked again", async () => {
    await using world = await start();
    let isReady = false;
    const assertion = () =>
      isReady ? world.idp.workloadToken(world.oauth.origin) : gate().opened.then(() => "");
    await using client = new McpClient({
      name: "crm",
      ...ONCE,
      url: world.oauth.url,
      auth: world.workload({ assertion }),
      timeouts: { connectMs: 300 },
    });
    expect((await failureOf(client.callTool(echo()))).kind).toMatch(/timeout|unauthorized/);
    isReady = true;
    await eventually(async () => (await client.tryCallTool(echo())).ok);
  });

  it("shows its JWT to nobody but the issuer that is written down", async () => {
    await using world = await start();
    await using other = await OAuthServer.start(world.mcp.url);
    other.trusted = world.idp.key.publicKey;
    // The MCP server names an authorization server of its own.
    await using client = new McpClient({
      name: "crm",
      ...ONCE,
      url: other.url,
      auth: world.workload(),
    });
    expect(await failureOf(client.callTool(echo()))).toMatchObject({ kind: "unauthorized" });
    expect(other.tokenRequests).toEqual([]);
    expect(world.oauth.tokenRequests).toHaveLength(1);
  });

  it.each([404, 503])(
    "gets a token for the server alone, also where it hides what it is (%i)",
    async (status) => {
      await using world = await start();
      world.oauth.resourceStatus = status;
      await using client = world.clientWith(world.workload());
      await client.callTool(echo());
      expect(world.oauth.tokenRequests.map((params) => params.get("resource"))).toEqual([world.oauth.url]);
    },
  );

  it("shows it to nobody who could be overheard", async () => {
    await using world = await start();
    world.oauth.metadata = { token_endpoint: "http://auth.example/token" };
    await using client = world.clientWith(world.workload());
    const failure = await failureOf(client.callTool(echo()));
    expect(failure.message).toContain("token_endpoint: expected https://: secrets are sent there");
  });

  it("takes an issuer that gives tokens and has no logins", async () => {
    await using world = await start();
    world.oauth.metadata = { authorization_endpoint: undefined, response_types_supported: undefined };
    await using client = world.clientWith(world.workload());
    expect((await client.callTool(echo("in"))).text()).toBe("in");
  });

  it("has no login that could be finished", async () => {
    await using world = await start();
    await using client = world.clientWith(world.workload());
    expect(await failureOf(client.finishAuth("code"))).toMatchObject({ kind: "invalid-config" });
  });
});

describe("a server that a company's identity provider lets people use (enterprise-managed)", () => {
  it("needs no login: the ID token becomes a grant there, and the grant a token", async () => {
    await using world = await start();
    await using client = world.clientWith(world.managed(world.idp.idTokenOf("alice")));
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
    expect(world.oauth.tokenClients).toEqual([`Basic ${basic}`]);
    // The server's authorization server never sees the ID token, nor the identity provider's secret.
    const shown = String(world.oauth.tokenRequests[0]);
    expect(shown).not.toContain(exchange?.get("subject_token"));
    expect(shown).not.toContain("hush-Hush-3");
  });

  it("each user has tokens and a session of their own", async () => {
    await using world = await start();
    const userOf = ({ configurable }: CallContext) => String(configurable["user"]);
    await using client = new McpClient({
      name: "crm",
      ...ONCE,
      url: world.oauth.url,
      identity: userOf,
      auth: (context) => world.managed(world.idp.idTokenOf(userOf(context))),
    });
    for (const user of ["alice", "bob", "alice"])
      await client.callTool(echo(user), { context: { configurable: { user } } });
    expect(world.idp.exchanges).toHaveLength(2);
    expect(world.mcp.received("initialize")).toHaveLength(2);
  });

  it("what the identity provider does not allow is told in its words, and without secrets", async () => {
    await using world = await start();
    world.idp.refusedAudiences.add(world.oauth.origin);
    const idToken = world.idp.idTokenOf("alice");
    await using client = world.clientWith(world.managed(idToken));
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "unauthorized" });
    expect(failure.message).toContain(
      "The identity provider refused the exchange: access_denied: not for you",
    );
    expect(world.oauth.tokenRequests).toEqual([]);
    for (const secret of [idToken, "hush-Hush-2", "hush-Hush-3"])
      expect(JSON.stringify(failure)).not.toContain(secret);
  });

  it("and is quoted, not let through: of a bounded length, on one line", async () => {
    await using world = await start();
    world.idp.refusedAudiences.add(world.oauth.origin);
    world.idp.words = `\u001b[31mno\n\n\u202ewell${" no".repeat(5_000)}`;
    await using client = world.clientWith(world.managed(world.idp.idTokenOf("alice")));
    const { message } = await failureOf(client.callTool(echo()));
    expect(message).toContain("access_denied: no well no no");
    expect(message.length).toBeLessThan(500);
  });

  it("a function that gives something else is told what is wrong", async () => {
    await using world = await start();
    await using client = new McpClient({
      name: "crm",
      ...ONCE,
      url: world.oauth.url,
      identity: () => "alice",
      auth: () => ({ ...world.managed(world.idp.idTokenOf("alice")), issuer: "auth.example" }),
    });
    const failure = await failureOf(client.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path: "issuer" }] });
  });
});
