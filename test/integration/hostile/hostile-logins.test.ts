import { describe, expect, it } from "vitest";
import { createTestClient, echo, rejection, times } from "../../fixtures/clients.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { IdentityProvider } from "../../fixtures/identity-provider.js";
import { startOAuthRoutes } from "../../fixtures/oauth-routes.js";
import { startProtectedServer } from "../../fixtures/protected-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

/** A server that is its own authorization server. */
function startLoginServer(toLoginUrl: (origin: string) => string) {
  return startRawServer(({ request, response }) => {
    const { host = "", url = "" } = { host: request.headers.host, url: request.url };
    const origin = `http://${host}`;
    const documents: Record<string, object> = {
      "oauth-protected-resource": { resource: `${origin}/mcp`, authorization_servers: [origin] },
      "oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: toLoginUrl(origin),
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    };
    const [, document] = Object.entries(documents).find(([name]) => url.includes(name)) ?? [];
    response.writeHead(document === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
}

it.each([
  ["starts another program", () => "ms-settings:privacy", "starts with neither https:// nor http://"],
  ["is a file", () => "file:///etc/passwd", "starts with neither https:// nor http://"],
  ["is long", (origin: string) => `${origin}/login?x=${"x".repeat(900_000)}`, "16384 are allowed"],
])("a login whose URL %s is not offered", async (_, toLoginUrl, text) => {
  await using server = await startLoginServer(toLoginUrl);
  const provider = new MemoryOAuthProvider();
  await using client = createTestClient(server, { auth: provider });
  const failure = await rejection(client.callTool(echo()));
  expect(failure).toMatchObject({ kind: "unauthorized", authorizationUrl: undefined });
  expect(failure.message).toContain(text);
  expect(provider.redirects).toEqual([]);
});

describe.each<[string, object, string]>([
  ["an access token with a line break", { access_token: "abcd\r\nx-user: admin" }, "access_token"],
  ["a blank access token", { access_token: " " }, "access_token"],
  ["an access token of a missing value", { access_token: "undefined" }, "access_token"],
  ["an access token with its scheme", { access_token: "Bearer abcd" }, "access_token"],
  ["a long access token", { access_token: "x".repeat(70_000) }, "access_token"],
])("%s", (_, tokenFields, field) => {
  it("is not saved by a provider, and the next call requests another", async () => {
    await using server = await startProtectedServer();
    const provider = server.machine();
    await using client = server.clientWith(provider);
    server.oauth.tokenFields = tokenFields;
    const failure = await rejection(client.callTool(echo()));
    expect(failure.kind).toBe("unauthorized");
    expect(failure.message).toContain(field);
    expect(provider.tokens()).toBeUndefined();
    server.oauth.tokenFields = {};
    expect((await client.callTool(echo("again"))).text()).toBe("again");
  });

  it("is not kept for a grant", async () => {
    await using server = await startProtectedServer();
    await using idp = await IdentityProvider.start();
    const { oauth } = server;
    oauth.trustedKey = idp.key.publicKey;
    const assertion = idp.issueWorkloadToken(oauth.origin);
    await using client = server.clientWith({ grant: "jwt-bearer", issuer: oauth.origin, assertion });
    oauth.tokenFields = tokenFields;
    expect((await rejection(client.callTool(echo()))).message).toContain(field);
    oauth.tokenFields = {};
    expect((await client.callTool(echo("again"))).text()).toBe("again");
  });
});

describe("a response of an authorization server with half a million values", () => {
  const zeros = times(500_000, () => 0);
  const message = "it has more than 10000 values";

  it.each([["response_types_supported"], ["scopes_supported"], ["unknown"]])(
    "is rejected before it is validated: metadata with %s",
    async (field) => {
      await using server = await startProtectedServer();
      await using client = server.clientWith(server.machine());
      server.oauth.metadata = { [field]: zeros };
      const failure = await rejection(client.callTool(echo()));
      expect(failure.kind).toBe("unauthorized");
      expect(failure.message).toContain(message);
      server.oauth.metadata = {};
      expect((await client.callTool(echo("again"))).text()).toBe("again");
    },
  );

  it("is rejected before it is validated: metadata for a grant", async () => {
    await using server = await startProtectedServer();
    await using idp = await IdentityProvider.start();
    const { oauth } = server;
    oauth.trustedKey = idp.key.publicKey;
    const assertion = idp.issueWorkloadToken(oauth.origin);
    await using client = server.clientWith({ grant: "jwt-bearer", issuer: oauth.origin, assertion });
    oauth.metadata = { token_endpoint_auth_methods_supported: zeros };
    expect((await rejection(client.callTool(echo()))).message).toContain(message);
    oauth.metadata = {};
    expect((await client.callTool(echo("again"))).text()).toBe("again");
  });

  it("is rejected before it is saved: tokens", async () => {
    await using server = await startProtectedServer();
    const provider = server.machine();
    await using client = server.clientWith(provider);
    server.oauth.tokenFields = { scopes: zeros };
    expect((await rejection(client.callTool(echo()))).message).toContain(message);
    expect(provider.tokens()).toBeUndefined();
  });

  it("is rejected before it is validated: a registered client", async () => {
    await using server = await startOAuthRoutes();
    const { origin, routes } = server;
    routes.set("/.well-known/oauth-authorization-server", {
      body: {
        issuer: origin,
        authorization_endpoint: `${origin}/login`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    });
    routes.set("/register", { status: 201, body: { client_id: "cid", redirect_uris: zeros } });
    const saved: unknown[] = [];
    const provider = Object.assign(new MemoryOAuthProvider(), {
      clientInformation: () => undefined,
      saveClientInformation: (registered: unknown) => saved.push(registered),
    });
    await using client = createTestClient(server, { auth: provider as never });
    expect((await rejection(client.callTool(echo()))).message).toContain(message);
    expect(saved).toEqual([]);
  });
});

it("long refresh and ID tokens are accepted", async () => {
  await using server = await startProtectedServer();
  const provider = server.machine();
  await using client = server.clientWith(provider);
  const long = "x".repeat(300_000);
  server.oauth.tokenFields = { id_token: long, refresh_token: long };
  expect((await client.callTool(echo("long"))).text()).toBe("long");
  expect(provider.tokens()).toMatchObject({ id_token: long, refresh_token: long });
});

it("a registered client with a long id is not saved", async () => {
  await using server = await startRawServer(({ request, response, body }) => {
    const origin = `http://${request.headers.host}`;
    const { url = "" } = request;
    const documents: Record<string, object> = {
      "oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: `${origin}/login`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
      register: { ...body, client_id: "x".repeat(5_000) },
    };
    const [, document] = Object.entries(documents).find(([name]) => url.includes(name)) ?? [];
    response.writeHead(document === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
  const saved: unknown[] = [];
  const provider = Object.assign(new MemoryOAuthProvider(), {
    clientInformation: () => undefined,
    saveClientInformation: (client: unknown) => saved.push(client),
  });
  await using client = createTestClient(server, { auth: provider as never });
  expect((await rejection(client.callTool(echo()))).message).toContain("client_id");
  expect(saved).toEqual([]);
});
