import { execFile } from "node:child_process";
import { createServer as createTcpServer } from "node:net";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Agent, fetch as undiciFetch } from "undici";
import { describe, expect, it, vi } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { createTestClient, echo, eventually, rejection, deferred, times } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { createSigningKey, signJwt } from "../../fixtures/jwt.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { startTlsProxy } from "../../fixtures/tls-proxy.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { findFreePort, Listener } from "../../fixtures/listener.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const authority = readPemFile("authority");
const clientCertificate = { cert: readPemFile("client"), key: readPemFile("client-key") };
const requiresClientCertificate = { ca: authority, requestCert: true, rejectUnauthorized: true };

describe("a server with a certificate of a private CA", () => {
  it.each([
    ["a string", authority],
    ["a Buffer", Buffer.from(authority)],
    ["one of several CAs", [readPemFile("other-authority"), authority]],
    ["one of several CAs in one string", `${readPemFile("other-authority")}\n${authority}`],
  ])("is trusted when tls.ca contains its CA: %s", async (_, ca) => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url);
    await using far = createTestClient(front, { tls: { ca } });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
  });

  it.each([
    ["its CA is not trusted", {}, undefined, { message: expect.stringContaining("tls.ca") }],
    [
      "another CA is trusted",
      {},
      { ca: readPemFile("other-authority") },
      { message: expect.stringContaining("tls.ca") },
    ],
    [
      "its certificate is expired",
      { cert: readPemFile("expired") },
      { ca: authority },
      { cause: { code: "CERT_HAS_EXPIRED" } },
    ],
    [
      "its certificate is for other names",
      { cert: readPemFile("other-names") },
      { ca: authority },
      { cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } },
    ],
    [
      "it requires a client certificate",
      requiresClientCertificate,
      { ca: authority },
      { message: expect.stringContaining("tls.cert and tls.key") },
    ],
    [
      "it requires a client certificate, with TLS 1.2",
      { ...requiresClientCertificate, maxVersion: "TLSv1.2" as const },
      { ca: authority },
      { message: expect.stringContaining("tls.cert and tls.key") },
    ],
  ])("receives nothing when %s", async (_, front, tls, expected) => {
    await using server = await startMcpTestServer();
    await using tlsProxy = await startTlsProxy(server.url, front);
    await using far = createTestClient(tlsProxy, { ...(tls && { tls }) });
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false, server: "test", ...expected });
    expect(server.requests).toEqual([]);
  });

  it("that requires a client certificate receives it", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url, requiresClientCertificate);
    await using far = createTestClient(front, { tls: { ca: authority, ...clientCertificate } });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
    expect(front.clientNames).toContain("Test only: client");
  });

  it("that rejects the client certificate runs nothing, and no error contains the key", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url, requiresClientCertificate);
    const tls = { ca: authority, cert: readPemFile("other-client"), key: clientCertificate.key };
    await using far = createTestClient(front, { tls });
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ outcomeUnknown: false });
    expect(server.requests).toEqual([]);
    const [, keyLine = "?"] = clientCertificate.key.split("\n");
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(keyLine);
  });

  it("over plain HTTP causes a warning that tls has no effect", async () => {
    await using server = await startMcpTestServer();
    await using far = createTestClient(server, { tls: { ca: authority } });
    const warnings: unknown[] = [];
    far.on("warning", (warning) => warnings.push(warning));
    await far.callTool(echo());
    expect(warnings).toEqual([{ server: "test", message: expect.stringContaining("tls has no effect") }]);
  });

  it("that uses plain HTTP is reported as such", async () => {
    await using server = await startMcpTestServer();
    await using far = createTestClient(server.url.replace("http:", "https:"));
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain("does not use TLS");
  });
});

describe("with a proxy", () => {
  it("a server that only the proxy can resolve is reached, and the proxy cannot read the traffic", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const headers = { authorization: "Bearer canary7f3a91" };
    await using far = createTestClient("https://mcp.test/mcp", { headers, tls: { ca: authority } });
    expect((await far.callTool(echo("canary7f3a91"))).text()).toBe("canary7f3a91");
    expect(new Set(proxy.connectRequests.map((request) => request.authority))).toEqual(
      new Set(["mcp.test:443"]),
    );
    expect(proxy.tunneledData.length).toBeGreaterThan(500);
    expect(proxy.tunneledData).not.toContain("canary7f3a91");
    expect(JSON.stringify(proxy.connectRequests)).not.toContain("canary7f3a91");
  });

  it("every request uses it: calls, notifications and the server stream", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: async () => (await promise, "slow") }],
    });
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": Number(new URL(server.url).port) } });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const far = createTestClient("http://mcp.test/mcp", { limits: { sockets: 1 } });
    far.on("notification", () => undefined);
    await far.ensureSession();
    await server.waitFor("GET");
    const controller = new AbortController();
    const call = rejection(far.callTool({ name: "slow" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await server.waitFor("notifications/cancelled");
    resolve();
    await far.close();
    expect(server.received("DELETE")).toHaveLength(1);
    expect(server.socketsOpened).toBe(proxy.connectRequests.length);
    await eventually(() => proxy.openSockets === 0);
  });

  it("the proxy may use TLS", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port }, tls: true });
    const script = `const client = new McpClient({ name: "far", url: "https://mcp.test/mcp" });
      console.log((await client.callTool({ name: "echo", args: { text: "hi" } })).text());
      await client.close();`;
    const { stdout, stderr } = await runTrusting(script, { HTTPS_PROXY: proxy.url });
    expect({ stdout, stderr }).toEqual({ stdout: "hi\n", stderr: "" });
    expect(proxy.connectRequests[0]?.authority).toBe("mcp.test:443");
  });

  it("only the proxy receives its user and password", async () => {
    await using server = await startMcpTestServer();
    const hosts = { "mcp.test": Number(new URL(server.url).port) };
    await using proxy = await startConnectProxy({ hosts, credentials: "ann:pass:word" });
    vi.stubEnv("HTTP_PROXY", proxy.url.replace("//", "//ann:pass%3Aword@"));
    await using far = createTestClient("http://mcp.test/mcp");
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
    expect(server.requests.every(({ headers }) => headers["proxy-authorization"] === undefined)).toBe(true);
  });

  it.each([
    ["requires other credentials", { credentials: "ann:other" }, "HTTP 407"],
    ["does not allow the server", { response: 403 }, "HTTP 403"],
    ["cannot reach the server", { hosts: {} }, "HTTP 502"],
  ])("a proxy that %s is reported without its password", async (_, options, status) => {
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": 1 }, ...options });
    vi.stubEnv("HTTPS_PROXY", proxy.url.replace("//", "//ann:canary7f3a91@"));
    await using far = createTestClient("https://mcp.test/mcp");
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
    expect(failure.message).toContain(`${proxy.url} (HTTPS_PROXY)`);
    expect(failure.message).toContain(status);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
    await eventually(() => proxy.openSockets === 0);
  });

  it("a proxy that is not running is reported", async () => {
    const proxy = await startConnectProxy({ hosts: {} });
    await proxy[Symbol.asyncDispose]();
    vi.stubEnv("https_proxy", proxy.url.replace("//", "//ann:canary7f3a91@"));
    await using far = createTestClient("https://mcp.test/mcp");
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", cause: { cause: { code: "ECONNREFUSED" } } });
    expect(failure.message).toContain(`${proxy.url} (https_proxy)`);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
  });

  it("a proxy that never responds fails the handshake after connectMs", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, response: "nothing" });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    await using far = createTestClient("https://mcp.test/mcp", { timeouts: { connectMs: 100 } });
    expect(await rejection(far.callTool(echo()))).toMatchObject({ kind: "timeout" });
  });

  it("close aborts a tunnel that is being opened", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, response: "nothing" });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const clock = new FakeClock();
    const far = createTestClient("https://mcp.test/mcp", {}, { clock });
    const call = rejection(far.callTool(echo()));
    await eventually(() => proxy.connectRequests.length === 1);
    await clock.advanceUntilSettled(far.close(), 1_000);
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });

  it("close aborts a TLS handshake in a tunnel", async () => {
    await using silent = await startSilentServer();
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": silent.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const clock = new FakeClock();
    const far = createTestClient("https://mcp.test/mcp", {}, { clock });
    const call = rejection(far.callTool(echo()));
    await eventually(() => silent.receivedBytes > 0);
    await clock.advanceUntilSettled(far.close(), 1_000);
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });

  it("a server in NO_PROXY or on a loopback host is connected to directly", async () => {
    await using server = await startMcpTestServer();
    await using proxy = await startConnectProxy({ hosts: {}, response: 403 });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    await using near = createTestClient(server);
    expect((await near.callTool(echo("hi"))).text()).toBe("hi");
    vi.stubEnv("NO_PROXY", "example.com, .test");
    await using exempt = createTestClient("http://mcp.test/mcp");
    expect(await rejection(exempt.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      cause: { syscall: "getaddrinfo", hostname: "mcp.test" },
    });
    expect(proxy.connectRequests).toEqual([]);
  });

  it("an unsupported proxy protocol is a configuration error that does not contain the URL", async () => {
    vi.stubEnv("HTTPS_PROXY", "socks5://ann:canary7f3a91@127.0.0.1:1");
    await using far = createTestClient("https://mcp.test/mcp");
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "test" });
    expect(failure.message).toMatch(/HTTPS_PROXY .* socks5:/);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
  });
});

describe("a user-supplied dispatcher", () => {
  it("sends every request and is not closed", async () => {
    await using server = await startMcpTestServer();
    const agent = new Agent();
    const sent: string[] = [];
    const dispatcher = agent.compose((dispatch) => (options, handler) => {
      sent.push(options.method);
      return dispatch(options, handler);
    });
    const far = createTestClient(server, { dispatcher });
    far.on("notification", () => undefined);
    await Promise.all(times(5, (n) => far.callTool(echo(String(n)))));
    await server.waitFor("GET");
    await far.close();
    expect(sent).toHaveLength(server.requests.length);
    expect(sent).toContain("DELETE");
    const after = await agent.request({ origin: new URL(server.url).origin, path: "/mcp", method: "GET" });
    await after.body.dump();
    expect(after.statusCode).toBe(404);
    await agent.close();
  });

  it("of an unsupported undici version is reported", async () => {
    const dispatcher = {
      dispatch: () => {
        throw Object.assign(new Error("invalid onError method"), { code: "UND_ERR_INVALID_ARG" });
      },
    };
    await using far = createTestClient("http://127.0.0.1:1/mcp", { dispatcher });
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", cause: { code: "UND_ERR_INVALID_ARG" } });
    expect(failure.message).toContain("undici 7");
  });
});

describe("a user-supplied fetch", () => {
  it("sends every request", async () => {
    await using server = await startMcpTestServer();
    await using agent = closing(new Agent());
    const sent: string[] = [];
    const far = createTestClient(server, {
      fetch: (url, request) => {
        sent.push(request.method);
        return undiciFetch(url, { ...request, dispatcher: agent.value });
      },
    });
    far.on("notification", () => undefined);
    await Promise.all(times(5, (n) => far.callTool(echo(String(n)))));
    await server.waitFor("GET");
    await far.close();
    expect(sent).toHaveLength(server.requests.length);
    expect(sent).toContain("DELETE");
  });

  it("may be the global fetch", async () => {
    await using server = await startMcpTestServer();
    await using far = createTestClient(server, { fetch });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
  });

  it("does not follow a redirect to another origin", async () => {
    await using server = await startMcpTestServer();
    await using elsewhere = await startMcpTestServer();
    server.addFault({ type: "status", status: 307, headers: { location: elsewhere.url } });
    await using far = createTestClient(server, { fetch, headers: { authorization: "Bearer canary7f3a91" } });
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 307 });
    expect(elsewhere.requests).toEqual([]);
  });

  it("follows a redirect within the origin", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "status", status: 307, headers: { location: "/mcp/" } }, { times: 1 });
    await using far = createTestClient(server, { fetch });
    expect((await far.callTool(echo("there"))).text()).toBe("there");
  });

  it("with a refused connection has sent nothing", async () => {
    await using far = createTestClient(`http://127.0.0.1:${await findFreePort()}/mcp`, { fetch });
    expect(await rejection(far.callTool(echo()))).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
  });

  it("with an untrusted certificate has sent nothing", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsProxy(server.url);
    await using far = createTestClient(front, { fetch });
    const failure = await rejection(far.callTool(echo()));
    expect(failure).toMatchObject({
      kind: "not-sent",
      cause: { code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
    });
  });

  it("that throws or rejects fails the call immediately", async () => {
    const throwing = createTestClient("http://far.test/mcp", {
      fetch: () => {
        throw new Error("no network today");
      },
    });
    expect(await rejection(throwing.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    const rejecting = createTestClient("http://far.test/mcp", { fetch: () => Promise.reject("no") });
    expect(await rejection(rejecting.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
  });

  it("whose chunks come without `done` is read to its end", async () => {
    await using server = await startMcpTestServer();
    const withoutDone: typeof fetch = async (url, request) => {
      const { status, headers, body } = await fetch(url, request);
      const reader = body?.getReader();
      const read = async () => {
        const { done, value } = (await reader?.read()) ?? { done: true };
        return done ? { done } : { value };
      };
      const cancel = async () => reader?.cancel();
      return { status, headers, body: { getReader: () => ({ read, cancel }) } } as never;
    };
    await using far = createTestClient(server, { fetch: withoutDone });
    expect((await far.callTool(echo("all of it"))).text()).toBe("all of it");
  });

  it("that ignores its signal delays neither a cancelled call nor close", async () => {
    const { promise, resolve } = deferred();
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: async () => (await promise, "slow") }],
    });
    await using agent = closing(new Agent({ pipelining: 0 }));
    const far = createTestClient(server, {
      fetch: (url, { method, headers, body = null }) =>
        undiciFetch(url, { method, headers, body, dispatcher: agent.value }),
    });
    await far.ensureSession();
    const controller = new AbortController();
    const call = rejection(far.callTool({ name: "slow" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await far.close();
    resolve();
    await eventually(() => server.openSockets === 0);
  });
});

describe("a request to an authorization server", () => {
  const oauth = ({ origin }: OAuthServer) =>
    new ClientCredentialsProvider({ clientId: "robot", clientSecret: "s3cret", expectedIssuer: origin });

  it("uses the proxy and the trusted CA of the MCP server", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url, "https://mcp.test");
    await using front = await startTlsProxy(`http://127.0.0.1:${gated.port}/mcp`);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const far = createTestClient("https://mcp.test/mcp", { auth: oauth(gated), tls: { ca: authority } });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(gated.tokenRequests).toHaveLength(1);
    await far.close();
    await eventually(() => proxy.openSockets === 0);
  });

  it.each([
    ["does not present the client certificate", {}, undefined],
    [
      "presents the client certificate if listed in certOrigins",
      { certOrigins: ["https://proxy.test"] },
      "Test only: client",
    ],
  ])("%s to another origin", async (_, more, presented) => {
    await using world = await startWithSeparateIssuer();
    vi.stubEnv("HTTPS_PROXY", world.proxy.url);
    const tls = { ca: authority, ...clientCertificate, ...more };
    await using far = createTestClient("https://mcp.test/mcp", { auth: world.auth, tls });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(new Set(world.server.clientNames)).toEqual(new Set(["Test only: client"]));
    expect(new Set(world.login.clientNames)).toEqual(new Set([presented]));
  });

  it("does not present the client certificate to another origin without tls.ca either", async () => {
    await using world = await startWithSeparateIssuer();
    const definition = { name: "far", url: "https://mcp.test/mcp", auth: world.auth, tls: clientCertificate };
    const { stdout } = await runTrusting(
      `const client = new McpClient(${JSON.stringify(definition)});
      console.log((await client.callTool({ name: "echo", args: { text: "in" } })).text());
      await client.close();`,
      { HTTPS_PROXY: world.proxy.url },
    );
    expect(stdout).toBe("in\n");
    expect(new Set(world.server.clientNames)).toEqual(new Set(["Test only: client"]));
    expect(new Set(world.login.clientNames)).toEqual(new Set([undefined]));
  });

  it("uses the user-supplied dispatcher", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url);
    await using agent = closing(new Agent());
    const sent: string[] = [];
    const dispatcher = agent.value.compose((dispatch) => (options, handler) => {
      sent.push(options.path);
      return dispatch(options, handler);
    });
    await using far = createTestClient(gated, { auth: oauth(gated), dispatcher });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(sent).toContain("/token");
  });

  it("uses the user-supplied fetch", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url);
    const sent: string[] = [];
    await using far = createTestClient(gated, {
      auth: oauth(gated),
      fetch: (url, request) => {
        sent.push(new URL(url).pathname);
        return fetch(url, request);
      },
    });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(sent).toContain("/token");
  });
});

/**
 * Runs a script that uses `McpClient` in a process where Node trusts our CA like a public one, which can only be set at startup.
 */
function runTrusting(script: string, env: Readonly<Record<string, string>>) {
  const trusted = fileURLToPath(new URL("../../fixtures/certificates/authority.pem", import.meta.url));
  const { execArgv, path } = getChildScript("src/index");
  const code = `import { McpClient } from ${JSON.stringify(path)}; ${script}`;
  return promisify(execFile)(process.execPath, [...execArgv, "--input-type=module", "-e", code], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    env: { ...process.env, NODE_EXTRA_CA_CERTS: trusted, ...env },
  });
}

/**
 * A server at mcp.test whose tokens are issued at proxy.test; both request a client certificate but do not
 * require it.
 */
async function startWithSeparateIssuer() {
  const requestsCertificate = { ca: authority, requestCert: true, rejectUnauthorized: false };
  const origin = "https://proxy.test";
  const mcp = await startMcpTestServer();
  const oauth = await OAuthServer.start(mcp.url, origin);
  const workload = createSigningKey();
  oauth.trustedKey = workload.publicKey;
  oauth.resourceStatus = 404;
  const server = await startTlsProxy(`http://127.0.0.1:${oauth.port}/mcp`, requestsCertificate);
  const login = await startTlsProxy(`http://127.0.0.1:${oauth.port}`, requestsCertificate);
  const proxy = await startConnectProxy({ hosts: { "mcp.test": server.port, "proxy.test": login.port } });
  const assertion = signJwt(workload, { aud: origin, exp: Math.floor(Date.now() / 1000) + 600 });
  const auth = { grant: "jwt-bearer" as const, issuer: origin, assertion };
  return disposeWith({ server, login, proxy, auth }, proxy, login, server, oauth, mcp);
}

function closing(value: Agent) {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

/** Accepts connections and data, and never responds. */
async function startSilentServer() {
  const tcpServer = createTcpServer((socket) => {
    socket.on("data", (chunk) => {
      silent.receivedBytes += chunk.length;
    });
  });
  const listener = await Listener.start(tcpServer);
  const silent = { port: listener.port, receivedBytes: 0 };
  return disposeWith(silent, listener);
}
