import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  type AddressRequest,
  type AllowAddress,
  createMcpTools,
  createMcpToolsFromAgent,
  type JsonObject,
  loadMcpServers,
  type ServerDefinition,
} from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createTestClient, echo, NO_RETRY, rejection } from "../../fixtures/clients.js";
import { ConfigFolders } from "../../fixtures/config-folders.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { stubAwsEnvironment } from "../../fixtures/lambda-endpoint.js";
import { MemoryOAuthProvider } from "../../fixtures/memory-oauth-provider.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { startRawServer } from "../../fixtures/raw-server.js";

const LINK_LOCAL = "http://169.254.169.254";
/** A public address, which only a proxy of the test can reach. */
const PUBLIC = "203.0.113.7";

/** An agent file with one server and a saved tool. */
function agentWith(server: JsonObject) {
  const resource = {
    $resourceType: "mcp",
    name: "inline",
    server,
    availableTools: [{ name: "echo", inputSchema: { type: "object" } }],
  };
  return { resources: [resource] };
}

async function callInline(server: JsonObject, allowAddress?: AllowAddress) {
  const options = { allowInlineServers: true, ...(allowAddress && { allowAddress }) } as const;
  await using mcp = await createMcpToolsFromAgent(agentWith(server), options);
  return await mcp.tryCallTool({ name: "echo", args: { text: "hi" } });
}

async function callFirst(servers: Record<string, ServerDefinition>, allowAddress?: AllowAddress) {
  await using mcp = await createMcpTools(servers, {
    waitForUncached: false,
    ...(allowAddress && { allowAddress }),
  });
  const [client] = Object.values(mcp.clients);
  if (client === undefined) throw new Error("no client");
  return await client.callTool(echo("hi"));
}

describe("the server of an agent file", () => {
  beforeEach(stubAwsEnvironment);

  it.each([
    { url: `${LINK_LOCAL}/mcp` },
    { url: "http://2852039166/mcp" },
    { url: "http://0xa9fea9fe/mcp" },
    { url: "http://[::ffff:169.254.169.254]/mcp" },
    { url: "http://[fe80::1]/mcp" },
    { type: "sse", url: `${LINK_LOCAL}/sse` },
    { url: "ws://169.254.169.254/mcp" },
    { functionName: "f", region: "eu-north-1", endpoint: LINK_LOCAL },
  ])("is not connected at a link-local address: %j", async (server) => {
    expect(await callInline(server)).toMatchObject({
      ok: false,
      error: {
        kind: "denied",
        outcomeUnknown: false,
        message: expect.stringMatching(/link-local.*allowAddress can allow it/),
      },
    });
  });

  it("is connected on this machine unless allowAddress denies it, which is given its IP address", async () => {
    await using server = await startMcpTestServer();
    const url = server.url.replace("127.0.0.1", "localhost");
    expect(await callInline({ url })).toMatchObject({ ok: true });
    const requests: AddressRequest[] = [];
    const before = server.requests.length;
    const deny: AllowAddress = (request) => requests.push(request) < 0;
    expect(await callInline({ url }, deny)).toMatchObject({ ok: false, error: { kind: "denied" } });
    expect(server.requests).toHaveLength(before);
    const { origin } = new URL(url);
    expect(requests).toContainEqual({
      url: new URL(origin),
      ip: "127.0.0.1",
      purpose: "server",
      allowedByDefault: true,
    });
  });
});

describe("the server of a project file", () => {
  it("is checked, also after its definition was copied, and that of the operator is not", async () => {
    await using server = await startMcpTestServer();
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { a: { url: server.url } } });
    const loaded = await loadMcpServers(folders.options());
    const own = await loadMcpServers(folders.options({ files: [".mcp.json"] }));
    const deny: AllowAddress = () => false;
    for (const servers of [loaded.servers, { copy: { ...loaded.servers["a"], ...NO_RETRY } as never }])
      expect(await rejection(callFirst(servers, deny))).toMatchObject({ kind: "denied" });
    expect(server.requests).toEqual([]);
    for (const servers of [own.servers, { a: { url: server.url } }])
      expect((await callFirst(servers, deny)).text()).toBe("hi");
  });

  it("is denied by default at a link-local address", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { a: { url: `${LINK_LOCAL}/mcp` } } });
    const { servers } = await loadMcpServers(folders.options());
    expect(await rejection(callFirst(servers))).toMatchObject({ kind: "denied" });
  });
});

describe("the server that resolve returns", () => {
  it.each<[label: string, decisions: readonly [boolean, boolean, boolean]]>([
    ["the toolset", [false, true, true]],
    ["the definition", [true, false, true]],
    ["what resolve returns", [true, true, false]],
  ])("needs the consent of every level: denied by %s", async (_, [toolset, definition, resolved]) => {
    await using server = await startMcpTestServer();
    const dynamic = {
      resolve: () => ({ url: server.url, allowAddress: () => resolved }),
      allowAddress: () => definition,
    };
    expect(await rejection(callFirst({ a: dynamic }, () => toolset))).toMatchObject({ kind: "denied" });
    expect(server.requests).toEqual([]);
  });

  it("is connected if every level allows it", async () => {
    await using server = await startMcpTestServer();
    const allowAddress = async () => true;
    const dynamic = { resolve: () => ({ url: server.url, allowAddress }), allowAddress };
    expect((await callFirst({ a: dynamic }, allowAddress)).text()).toBe("hi");
  });

  it("with a custom fetch is checked before it is called, without an IP address for a name", async () => {
    const sent: string[] = [];
    const requests: AddressRequest[] = [];
    const allowAddress: AllowAddress = (request) => {
      requests.push(request);
      return request.allowedByDefault;
    };
    const fetch = async (url: string) => {
      sent.push(url);
      return new Response(null, { status: 400 });
    };
    const resolve = (url: string) => ({ resolve: () => ({ url, fetch }), ...NO_RETRY });
    const failure = await rejection(callFirst({ a: resolve(`${LINK_LOCAL}/mcp`) }, allowAddress));
    expect([failure.kind, sent]).toEqual(["denied", []]);
    await rejection(callFirst({ a: resolve("http://named.test/mcp") }, allowAddress));
    expect(sent[0]).toBe("http://named.test/mcp");
    expect(new Set(requests.map(({ ip }) => ip))).toEqual(new Set(["169.254.169.254", undefined]));
  });
});

/** A server that requires a token of the authorization server at `issuer`. */
function startServerFor(issuer: () => string) {
  return startRawServer(({ request, response }, { url }) => {
    if (request.url?.includes("oauth-protected-resource") === true) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ resource: url, authorization_servers: [issuer()] }));
    } else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  });
}

describe("an authorization server that a server names", () => {
  it("is not asked at a link-local address", async () => {
    await using server = await startServerFor(() => LINK_LOCAL);
    await using client = createTestClient(server, { auth: new MemoryOAuthProvider() });
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "unauthorized",
      message: expect.stringMatching(/169\.254\.169\.254 is named by the server.*not allowed/),
      cause: { kind: "denied" },
    });
  });

  it("is not asked on this machine by a public server, unless allowAddress allows it", async () => {
    await using issuer = await OAuthServer.start("http://127.0.0.1:1/");
    const asked: string[] = [];
    await using server = await startServerFor(() => issuer.origin);
    const { port } = new URL(server.url);
    await using proxy = await startConnectProxy({ hosts: { [PUBLIC]: Number(port) } });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const call = async (definition: { readonly allowAddress?: AllowAddress }) => {
      await using client = createTestClient(`http://${PUBLIC}/mcp`, {
        auth: new MemoryOAuthProvider(),
        ...definition,
      });
      return await rejection(client.callTool(echo()));
    };
    expect((await call({})).message).toContain(`but http://${PUBLIC} is public`);
    const allowAddress: AllowAddress = ({ url, ip, purpose }) => {
      asked.push(`${purpose} ${url.origin} ${ip}`);
      return true;
    };
    // The resource of the metadata is that of the raw server, which has another URL than the public one.
    await call({ allowAddress });
    expect(asked).toEqual([`oauth ${issuer.origin} 127.0.0.1`]);
  });

  it("is asked at an address that the operator configures", async () => {
    await using server = await startServerFor(() => LINK_LOCAL);
    await using issuer = await startRawServer(({ response }) => void response.writeHead(503).end());
    const { origin } = new URL(issuer.url);
    const auth = { grant: "jwt-bearer", issuer: origin, assertion: "aa.bb.cc" } as const;
    await using client = createTestClient(server, { auth, allowAddress: () => false });
    expect((await rejection(client.callTool(echo()))).message).toContain("HTTP 503");
    expect(issuer.requests.length).toBeGreaterThan(0);
  });

  it.each([302, 307])("may not redirect to another origin: %d", async (status) => {
    await using other = await startRawServer();
    await using issuer = await startRawServer(
      ({ response }) => void response.writeHead(status, { location: other.url }).end(),
    );
    await using server = await startServerFor(() => new URL(issuer.url).origin);
    await using client = createTestClient(server, {
      auth: new MemoryOAuthProvider(),
      allowAddress: () => true,
    });
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "unauthorized" });
    expect(issuer.requests.length).toBeGreaterThan(0);
    expect(other.requests).toEqual([]);
  });
});
