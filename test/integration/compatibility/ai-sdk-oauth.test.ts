// What the tests of the AI SDK's MCP client check about OAuth, as far as no other test of this package does.
import { describe, expect, it } from "vitest";
import type { OAuthTokens } from "../../../src/index.js";
import { createTestClient, echo, rejection } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { type OAuthRoute, type OAuthRoutes, startOAuthRoutes } from "../../fixtures/oauth-routes.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";

const RESOURCE = "/.well-known/oauth-protected-resource";
const ISSUER = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/** A definition of routes, in which `O` stands for the origin. */
type Routes = Readonly<Record<string, OAuthRoute>>;
const found = (body: object): OAuthRoute => ({ body });
const resource = (more: object = {}) => found({ resource: "O/mcp", authorization_servers: ["O"], ...more });
const issuer = (more: object = {}, base = "O") =>
  found({
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: "O/token",
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    ...more,
  });
const openId = (base = "O") =>
  issuer(
    {
      jwks_uri: "O/keys",
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    },
    base,
  );

function addRoutes(server: OAuthRoutes, routes: Routes): void {
  const text = JSON.stringify(routes).replaceAll('"O', `"${server.origin}`);
  for (const [path, route] of Object.entries(JSON.parse(text) as Routes)) server.routes.set(path, route);
}

/** Calls a tool without a token. Returns the failure and the URL of the login, without the origin. */
async function requireLogin(server: OAuthRoutes, provider = new MemoryOAuthProvider()) {
  await using client = createTestClient(server, { auth: provider });
  const failure = await rejection(client.callTool({ name: "get" }));
  const url = failure.authorizationUrl === undefined ? undefined : new URL(failure.authorizationUrl);
  return { failure, pathname: url?.pathname, params: url?.searchParams };
}

describe("the authorization server", () => {
  it.each<[string, Routes, string, string | null]>([
    [
      "metadata for the path of the server",
      { [`${RESOURCE}/mcp`]: resource(), [ISSUER]: issuer() },
      "/authorize",
      "/mcp",
    ],
    ["metadata for the origin", { [RESOURCE]: resource(), [ISSUER]: issuer() }, "/authorize", "/mcp"],
    ...[400, 401, 403, 410, 422, 429].map((status): [string, Routes, string, string] => [
      `metadata for the origin, after ${status} for the path`,
      { [`${RESOURCE}/mcp`]: { status }, [RESOURCE]: resource(), [ISSUER]: issuer() },
      "/authorize",
      "/mcp",
    ]),
    ["its own metadata only", { [ISSUER]: issuer() }, "/authorize", null],
    ["nothing", {}, "/authorize", null],
    ["OpenID Connect", { [RESOURCE]: resource(), [OPENID]: openId() }, "/authorize", "/mcp"],
    [
      "a path of its own",
      { [RESOURCE]: resource({ authorization_servers: ["O/t"] }), [`${ISSUER}/t`]: issuer({}, "O/t") },
      "/t/authorize",
      "/mcp",
    ],
    [
      "OpenID Connect below its path",
      { [RESOURCE]: resource({ authorization_servers: ["O/t"] }), [`/t${OPENID}`]: openId("O/t") },
      "/t/authorize",
      "/mcp",
    ],
    [
      "a resource that is an origin",
      { [RESOURCE]: resource({ resource: "O" }), [ISSUER]: issuer() },
      "/authorize",
      "",
    ],
  ])("is found by %s", async (_, routes, pathname, path) => {
    await using server = await startOAuthRoutes();
    addRoutes(server, routes);
    const login = await requireLogin(server);
    expect(login.pathname).toBe(pathname);
    expect(login.params?.get("resource")).toBe(path === null ? null : `${server.origin}${path}`);
    expect(login.params?.get("code_challenge_method")).toBe("S256");
    expect(login.params?.has("scope")).toBe(false);
    expect(login.params?.has("state")).toBe(false);
  });

  it.each<[string, Routes, string]>([
    ["fails", { [RESOURCE]: resource(), [ISSUER]: { status: 500 } }, "HTTP 500"],
    [
      "does not support S256",
      { [ISSUER]: issuer({ code_challenge_methods_supported: ["plain"] }) },
      "code challenge method S256",
    ],
    ["issues no codes", { [ISSUER]: issuer({ response_types_supported: ["token"] }) }, "response type code"],
    [
      "is that of another resource",
      { [RESOURCE]: resource({ resource: "https://other.example/mcp" }), [ISSUER]: issuer() },
      "other.example",
    ],
    [
      "is that of a path which only begins like that of the server",
      { [RESOURCE]: resource({ resource: "O/mc" }), [ISSUER]: issuer() },
      "does not match",
    ],
  ])("that %s is refused with the reason", async (_, routes, reason) => {
    await using server = await startOAuthRoutes();
    addRoutes(server, routes);
    const { failure, pathname } = await requireLogin(server);
    expect(failure.kind).toBe("unauthorized");
    expect(failure.message).toContain(reason);
    expect(pathname).toBeUndefined();
  });

  it("of another resource is accepted if the provider says so", async () => {
    await using server = await startOAuthRoutes();
    addRoutes(server, {
      [RESOURCE]: resource({ resource: "https://other.example/mcp" }),
      [ISSUER]: issuer(),
    });
    const asked: unknown[] = [];
    const provider = Object.assign(new MemoryOAuthProvider(), {
      validateResourceURL: (...question: unknown[]) => void asked.push(...question.map(String)),
    });
    expect((await requireLogin(server, provider)).pathname).toBe("/authorize");
    expect(asked).toEqual([server.url, "https://other.example/mcp"]);
  });

  it.each([
    ["of another scheme", (origin: string) => `Basic resource_metadata="${origin}/other"`],
    ["with an invalid URL", () => 'Bearer resource_metadata="other"'],
  ])("is not looked up by a challenge %s", async (_, challenge) => {
    await using server = await startOAuthRoutes();
    addRoutes(server, { [RESOURCE]: resource(), [ISSUER]: issuer() });
    server.challenge = challenge(server.origin);
    expect((await requireLogin(server)).pathname).toBe("/authorize");
    expect(server.requests.map(({ path }) => path)).toEqual([`${RESOURCE}/mcp`, RESOURCE, ISSUER]);
  });
});

describe("the URL of a login", () => {
  it("has the state of the provider, the scopes of the resource, and asks for consent to offline access", async () => {
    await using server = await startOAuthRoutes();
    addRoutes(server, {
      [RESOURCE]: resource({ scopes_supported: ["read", "offline_access"] }),
      [ISSUER]: issuer(),
    });
    const { params } = await requireLogin(
      server,
      Object.assign(new MemoryOAuthProvider(), { state: () => "s-1" }),
    );
    expect(params?.get("state")).toBe("s-1");
    expect(params?.get("scope")).toBe("read offline_access");
    expect(params?.get("prompt")).toBe("consent");
  });
});

describe("a client that is not registered", () => {
  const unregistered = (saved: unknown[] = []) =>
    Object.assign(new MemoryOAuthProvider(), {
      clientInformation: () => undefined as never,
      saveClientInformation: (information: object) => void saved.push(information),
    });
  const registration = { registration_endpoint: "O/register" };

  it("registers itself, and the provider stores what it gets", async () => {
    await using server = await startOAuthRoutes();
    const information = { client_id: "new", redirect_uris: ["http://127.0.0.1/callback"] };
    addRoutes(server, { [ISSUER]: issuer(registration), "/register": { status: 201, body: information } });
    const saved: unknown[] = [];
    expect((await requireLogin(server, unregistered(saved))).params?.get("client_id")).toBe("new");
    expect(saved).toMatchObject([{ client_id: "new" }]);
    expect(JSON.parse(server.requests.at(-1)?.body ?? "")).toMatchObject({ client_name: "test" });
  });

  it.each<[string, Routes, string]>([
    ["is impossible", { [ISSUER]: issuer() }, "does not support dynamic client registration"],
    [
      "is rejected",
      {
        [ISSUER]: issuer(registration),
        "/register": { status: 400, body: { error: "server_error", error_description: "no new clients" } },
      },
      "no new clients",
    ],
    [
      "has an invalid response",
      { [ISSUER]: issuer(registration), "/register": { body: { a: 1 } } },
      "client_id",
    ],
  ])("gets the reason if its registration %s", async (_, routes, reason) => {
    await using server = await startOAuthRoutes();
    addRoutes(server, routes);
    const { failure } = await requireLogin(server, unregistered());
    expect(failure).toMatchObject({
      kind: "unauthorized",
      message: expect.stringContaining(reason) as string,
    });
  });
});

describe("a refresh of tokens", () => {
  const OLD = { access_token: "old", refresh_token: "again", token_type: "Bearer" };

  async function start(answer: OAuthRoute, issuedBy?: string) {
    const server = await startOAuthRoutes();
    addRoutes(server, { [RESOURCE]: resource(), [ISSUER]: issuer(), "/token": answer });
    const provider = new MemoryOAuthProvider();
    const old = { ...OLD, issuer: issuedBy ?? server.origin };
    provider.saveTokens(old);
    return { server, provider, old, client: createTestClient(server, { auth: provider }) };
  }

  it("names the resource, and keeps the refresh token if there is no new one", async () => {
    const { server, provider, client } = await start(found({ access_token: "good", token_type: "Bearer" }));
    await using _server = server;
    await using _client = client;
    expect((await client.callTool({ name: "get" })).text()).toBe("ok");
    expect(provider.tokens()).toMatchObject({ access_token: "good", refresh_token: "again" });
    const sent = new URLSearchParams(server.requests.at(-1)?.body);
    expect(Object.fromEntries(sent)).toMatchObject({ grant_type: "refresh_token", resource: server.url });
  });

  it.each<[string, OAuthRoute]>([
    ["fails", { status: 400, body: { error: "server_error", error_description: "try later" } }],
    ["has an invalid response", found({ access_token: "good" })],
  ])("that %s leads to a login, and stores nothing", async (_, answer) => {
    const { server, provider, client, old } = await start(answer);
    await using _server = server;
    await using _client = client;
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({ kind: "unauthorized" });
    expect(provider.tokens()).toEqual(old);
  });

  it("is not requested from another authorization server than the one that issued them", async () => {
    const { server, client } = await start(found({}), "https://other.example");
    await using _server = server;
    await using _client = client;
    expect(await rejection(client.callTool({ name: "get" }))).toMatchObject({ kind: "unauthorized" });
    expect(server.requests.map(({ path }) => path)).not.toContain("/token");
  });

  it("that another process has already done uses the tokens of that process", async () => {
    await using world = await startProtectedServer();
    const stored: { tokens?: OAuthTokens | undefined } = {};
    await using first = world.clientWith(new SharedOAuthProvider(stored));
    const { authorizationUrl = "" } = await rejection(first.callTool(echo()));
    await first.finishAuth(await world.oauth.logIn(authorizationUrl));
    const slow = new SharedOAuthProvider(stored);
    await using second = world.clientWith(slow);
    await second.callTool(echo());
    world.oauth.revokeAccessTokens();
    // The first client refreshes after the second one has read the refresh token.
    slow.onRefresh = () => first.callTool(echo());
    expect((await second.callTool(echo("both"))).text()).toBe("both");
    expect(slow.redirects).toEqual([]);
    expect(slow.onRefresh).toBeUndefined();
    const grants = world.oauth.tokenRequests.map((params) => params.get("grant_type"));
    expect(grants).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
    expect((await first.callTool(echo("still"))).text()).toBe("still");
  });
});

/** The provider of one of several processes that store their tokens in one place. */
class SharedOAuthProvider extends MemoryOAuthProvider {
  /** Runs once, after the tokens for a refresh were read and before they are used. */
  onRefresh: (() => Promise<unknown>) | undefined;
  readonly #stored: { tokens?: OAuthTokens | undefined };
  #isRefreshing = false;

  constructor(stored: { tokens?: OAuthTokens | undefined }) {
    super();
    this.#stored = stored;
  }

  // The SDK asks for this right before it reads the tokens.
  override clientInformation(): object {
    this.#isRefreshing = true;
    return super.clientInformation();
  }

  override tokens(): never {
    const { tokens } = this.#stored;
    const { onRefresh } = this;
    if (!this.#isRefreshing || onRefresh === undefined) return tokens as never;
    this.onRefresh = undefined;
    return onRefresh().then(() => tokens) as never;
  }

  override saveTokens(tokens: OAuthTokens): void {
    this.#stored.tokens = tokens;
  }

  override invalidateCredentials(): void {
    this.#stored.tokens = undefined;
  }
}
