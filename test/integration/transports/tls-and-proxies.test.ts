import { execFile } from "node:child_process";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Agent, fetch as undiciFetch } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import { McpClient, type ServerDefinition } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, failureOf, gate, ONCE, times } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { signingKey, signJwt } from "../../fixtures/jwt.js";
import { OAuthServer } from "../../fixtures/oauth-server.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { startTlsFront } from "../../fixtures/tls-proxy.js";

const authority = pemFile("authority");
const ours = { cert: pemFile("client"), key: pemFile("client-key") };
const asksForOurs = { ca: authority, requestCert: true, rejectUnauthorized: true };

function client(definition: ServerDefinition): McpClient {
  return new McpClient({ name: "far", ...ONCE, ...definition } as never);
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a server with a certificate of a private authority", () => {
  it.each([
    ["text", authority],
    ["a Buffer", Buffer.from(authority)],
    ["one of several", [pemFile("stranger"), authority]],
    ["one of several in one text", `${pemFile("stranger")}\n${authority}`],
  ])("is trusted when tls.ca names it: %s", async (_, ca) => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url);
    await using far = client({ url: front.url, tls: { ca } });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
  });

  it.each([
    ["nobody vouches for it", {}, undefined, "give it as tls.ca"],
    ["another authority is trusted", {}, { ca: pemFile("stranger") }, "give it as tls.ca"],
    ["it has expired", { cert: pemFile("expired") }, { ca: authority }, "has expired"],
    ["it is for other names", { cert: pemFile("other-names") }, { ca: authority }, "for other names"],
    ["it asks for ours", asksForOurs, { ca: authority }, "give tls.cert and tls.key"],
    [
      "it asks for ours, in TLS 1.2",
      { ...asksForOurs, maxVersion: "TLSv1.2" as const },
      { ca: authority },
      "give tls.cert and tls.key",
    ],
  ])("is sent nothing when %s", async (_, front, tls, advice) => {
    await using server = await startMcpTestServer();
    await using before = await startTlsFront(server.url, front);
    await using far = client({ url: before.url, ...(tls && { tls }) });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
    expect(failure.message).toMatch(/^Server "far" /);
    expect(failure.message).toContain(advice);
    expect(server.requests).toEqual([]);
  });

  it("that asks for ours gets it", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url, asksForOurs);
    await using far = client({ url: front.url, tls: { ca: authority, ...ours } });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
    expect(front.clients).toContain("Test only: client");
  });

  it("that does not accept ours runs nothing, and our key is in no error", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url, asksForOurs);
    const tls = { ca: authority, cert: pemFile("stranger-client"), key: ours.key };
    await using far = client({ url: front.url, tls });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ outcomeUnknown: false });
    expect(server.requests).toEqual([]);
    const [, keyLine = "?"] = ours.key.split("\n");
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(keyLine);
  });

  it("is not asked for one over plain HTTP, and a warning says that tls has no effect", async () => {
    await using server = await startMcpTestServer();
    await using far = client({ url: server.url, tls: { ca: authority } });
    const warnings: string[] = [];
    far.on("warning", ({ message }) => warnings.push(message));
    await far.callTool(echo());
    expect(warnings).toEqual(['Server "far": tls has no effect on an address that starts with http://.']);
  });

  it("that speaks plain HTTP is told apart", async () => {
    await using server = await startMcpTestServer();
    await using far = client({ url: server.url.replace("http:", "https:") });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain("does not speak TLS there");
  });
});

describe("behind a proxy", () => {
  it("a server that only the proxy knows is reached, and the proxy cannot read along", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const headers = { authorization: "Bearer canary7f3a91" };
    await using far = client({ url: "https://mcp.test/mcp", headers, tls: { ca: authority } });
    expect((await far.callTool(echo("canary7f3a91"))).text()).toBe("canary7f3a91");
    expect(new Set(proxy.asked.map((request) => request.authority))).toEqual(new Set(["mcp.test:443"]));
    expect(proxy.seen.length).toBeGreaterThan(500);
    expect(proxy.seen).not.toContain("canary7f3a91");
    expect(JSON.stringify(proxy.asked)).not.toContain("canary7f3a91");
  });

  it("every request goes through it: calls, what is said aside, and the server's stream", async () => {
    const { opened, open } = gate();
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: async () => (await opened, "slow") }],
    });
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": Number(new URL(server.url).port) } });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const far = client({ url: "http://mcp.test/mcp", limits: { sockets: 1 } });
    far.on("notification", () => undefined);
    await far.ensureSession();
    await server.waitFor("GET");
    const controller = new AbortController();
    const call = failureOf(far.callTool({ name: "slow" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await server.waitFor("notifications/cancelled");
    open();
    await far.close();
    expect(server.received("DELETE")).toHaveLength(1);
    expect(server.socketsOpened).toBe(proxy.asked.length);
    await eventually(() => proxy.openSockets === 0);
  });

  it("which may speak TLS itself", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port }, tls: true });
    const script = `import { McpClient } from "./src/index.ts";
      const client = new McpClient({ name: "far", url: "https://mcp.test/mcp" });
      console.log((await client.callTool({ name: "echo", args: { text: "hi" } })).text());
      await client.close();`;
    const { stdout, stderr } = await runTrusting(script, { HTTPS_PROXY: proxy.url });
    expect({ stdout, stderr }).toEqual({ stdout: "hi\n", stderr: "" });
    expect(proxy.asked[0]?.authority).toBe("mcp.test:443");
  });

  it("its user and password go to it and to nobody else", async () => {
    await using server = await startMcpTestServer();
    const hosts = { "mcp.test": Number(new URL(server.url).port) };
    await using proxy = await startConnectProxy({ hosts, credentials: "ann:pass:word" });
    vi.stubEnv("HTTP_PROXY", proxy.url.replace("//", "//ann:pass%3Aword@"));
    await using far = client({ url: "http://mcp.test/mcp" });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
    expect(server.requests.every(({ headers }) => headers["proxy-authorization"] === undefined)).toBe(true);
  });

  it.each([
    ["wants other credentials", { credentials: "ann:other" }, "(HTTP 407)"],
    ["does not allow the server", { answers: 403 }, "it answered HTTP 403"],
    ["does not reach the server", { hosts: {} }, "it answered HTTP 502"],
  ])("one that %s is told about, without its password", async (_, options, said) => {
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": 1 }, ...options });
    vi.stubEnv("HTTPS_PROXY", proxy.url.replace("//", "//ann:canary7f3a91@"));
    await using far = client({ url: "https://mcp.test/mcp" });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
    expect(failure.message).toContain(`through the proxy ${proxy.url} (HTTPS_PROXY)`);
    expect(failure.message).toContain(said);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
    await eventually(() => proxy.openSockets === 0);
  });

  it("one that is not there is told about", async () => {
    const proxy = await startConnectProxy({ hosts: {} });
    await proxy[Symbol.asyncDispose]();
    vi.stubEnv("https_proxy", proxy.url.replace("//", "//ann:canary7f3a91@"));
    await using far = client({ url: "https://mcp.test/mcp" });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain(
      `${proxy.url} (https_proxy): there is no answer from it (ECONNREFUSED)`,
    );
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
  });

  it("one that never answers costs a handshake no more than connectMs", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, answers: "nothing" });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    await using far = client({ url: "https://mcp.test/mcp", timeouts: { connectMs: 100 } });
    expect(await failureOf(far.callTool(echo()))).toMatchObject({ kind: "timeout" });
  });

  it("close leaves nothing of a tunnel that is being made", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, answers: "nothing" });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const far = client({ url: "https://mcp.test/mcp" });
    const call = failureOf(far.callTool(echo()));
    await eventually(() => proxy.asked.length === 1);
    await far.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });

  it("close leaves nothing of a TLS handshake in a tunnel", async () => {
    await using silent = await startSilentServer();
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": silent.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const far = client({ url: "https://mcp.test/mcp" });
    const call = failureOf(far.callTool(echo()));
    await eventually(() => silent.heard > 0);
    await far.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });

  it("a server that NO_PROXY names, or one on this machine, is reached straight", async () => {
    await using server = await startMcpTestServer();
    await using proxy = await startConnectProxy({ hosts: {}, answers: 403 });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    await using near = client({ url: server.url });
    expect((await near.callTool(echo("hi"))).text()).toBe("hi");
    vi.stubEnv("NO_PROXY", "example.com, .test");
    await using exempt = client({ url: "http://mcp.test/mcp" });
    expect((await failureOf(exempt.callTool(echo()))).message).toContain("has a host that is not known");
    expect(proxy.asked).toEqual([]);
  });

  it("an address of another kind is an error of the environment that does not show it", async () => {
    vi.stubEnv("HTTPS_PROXY", "socks5://ann:canary7f3a91@127.0.0.1:1");
    await using far = client({ url: "https://mcp.test/mcp" });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-config", server: "far" });
    expect(failure.message).toContain("HTTPS_PROXY is an address that starts with socks5://");
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("canary7f3a91");
  });
});

describe("a dispatcher of the caller's own", () => {
  it("carries every request and is not closed", async () => {
    await using server = await startMcpTestServer();
    const agent = new Agent();
    const carried: string[] = [];
    const dispatcher = agent.compose((dispatch) => (options, handler) => {
      carried.push(options.method);
      return dispatch(options, handler);
    });
    const far = client({ url: server.url, dispatcher });
    far.on("notification", () => undefined);
    await Promise.all(times(5, (n) => far.callTool(echo(String(n)))));
    await server.waitFor("GET");
    await far.close();
    expect(carried).toHaveLength(server.requests.length);
    expect(carried).toContain("DELETE");
    const after = await agent.request({ origin: new URL(server.url).origin, path: "/mcp", method: "GET" });
    await after.body.dump();
    expect(after.statusCode).toBe(404);
    await agent.close();
  });

  it("of an undici that is too old is told about", async () => {
    const dispatcher = {
      dispatch: () => {
        throw Object.assign(new Error("invalid onError method"), { code: "UND_ERR_INVALID_ARG" });
      },
    };
    await using far = client({ url: "http://127.0.0.1:1/mcp", dispatcher });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain(
      "invalid onError method. A dispatcher of your own has to be of undici 7",
    );
  });
});

describe("a fetch of the caller's own", () => {
  it("carries every request", async () => {
    await using server = await startMcpTestServer();
    await using agent = closing(new Agent());
    const carried: string[] = [];
    const far = client({
      url: server.url,
      fetch: (url, request) => {
        carried.push(request.method);
        return undiciFetch(url, { ...request, dispatcher: agent.value });
      },
    });
    far.on("notification", () => undefined);
    await Promise.all(times(5, (n) => far.callTool(echo(String(n)))));
    await server.waitFor("GET");
    await far.close();
    expect(carried).toHaveLength(server.requests.length);
    expect(carried).toContain("DELETE");
  });

  it("is the global one, if you like", async () => {
    await using server = await startMcpTestServer();
    await using far = client({ url: server.url, fetch });
    expect((await far.callTool(echo("hi"))).text()).toBe("hi");
  });

  it("follows no redirect to another origin", async () => {
    await using server = await startMcpTestServer();
    await using elsewhere = await startMcpTestServer();
    server.addFault({ type: "status", status: 307, headers: { location: elsewhere.url } });
    await using far = client({ url: server.url, fetch, headers: { authorization: "Bearer canary7f3a91" } });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 307 });
    expect(elsewhere.requests).toEqual([]);
  });

  it("follows one within the origin", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "status", status: 307, headers: { location: "/mcp/" } }, { times: 1 });
    await using far = client({ url: server.url, fetch });
    expect((await far.callTool(echo("there"))).text()).toBe("there");
  });

  it("that finds nobody there has sent nothing", async () => {
    await using far = client({ url: `http://127.0.0.1:${await unusedPort()}/mcp`, fetch });
    expect(await failureOf(far.callTool(echo()))).toMatchObject({ kind: "not-sent", outcomeUnknown: false });
  });

  it("that meets a certificate of an unknown authority has sent nothing", async () => {
    await using server = await startMcpTestServer();
    await using front = await startTlsFront(server.url);
    await using far = client({ url: front.url, fetch });
    const failure = await failureOf(far.callTool(echo()));
    expect(failure).toMatchObject({ kind: "not-sent" });
    expect(failure.message).toContain("an authority that is not trusted");
  });

  it("that throws, or rejects with nothing of use, fails the call at once", async () => {
    const throwing = client({
      url: "http://far.test/mcp",
      fetch: () => {
        throw new Error("no network today");
      },
    });
    expect(await failureOf(throwing.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    const rejecting = client({ url: "http://far.test/mcp", fetch: () => Promise.reject("no") });
    expect(await failureOf(rejecting.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
  });

  it("that does not mind its signal holds up neither a cancelled call nor close", async () => {
    const { opened, open } = gate();
    await using server = await startMcpTestServer({
      tools: [{ name: "slow", run: async () => (await opened, "slow") }],
    });
    await using agent = closing(new Agent({ pipelining: 0 }));
    const far = client({
      url: server.url,
      fetch: (url, { method, headers, body = null }) =>
        undiciFetch(url, { method, headers, body, dispatcher: agent.value }),
    });
    await far.ensureSession();
    const controller = new AbortController();
    const call = failureOf(far.callTool({ name: "slow" }, { signal: controller.signal }));
    await eventually(() => server.executions.length === 1);
    controller.abort("enough");
    expect(await call).toBe("enough");
    await far.close();
    open();
    await eventually(() => server.openSockets === 0);
  });
});

describe("what is asked of an authorization server", () => {
  const oauth = ({ origin }: OAuthServer) =>
    new ClientCredentialsProvider({ clientId: "robot", clientSecret: "s3cret", expectedIssuer: origin });

  it("goes the server's way: through the proxy, trusting the private authority", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url, "https://mcp.test");
    await using front = await startTlsFront(`http://127.0.0.1:${gated.port}/mcp`);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const far = client({ url: "https://mcp.test/mcp", auth: oauth(gated), tls: { ca: authority } });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(gated.tokenRequests).toHaveLength(1);
    await far.close();
    await eventually(() => proxy.openSockets === 0);
  });

  it.each([
    ["not shown our certificate", {}, undefined],
    ["shown it when it is named", { certOrigins: ["https://proxy.test"] }, "Test only: client"],
  ])("is %s, when it is elsewhere", async (_, more, shown) => {
    await using world = await startWithLoginElsewhere();
    vi.stubEnv("HTTPS_PROXY", world.proxy.url);
    const tls = { ca: authority, ...ours, ...more };
    await using far = client({ url: "https://mcp.test/mcp", auth: world.auth, tls });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(new Set(world.server.clients)).toEqual(new Set(["Test only: client"]));
    expect(new Set(world.login.clients)).toEqual(new Set([shown]));
  });

  it("is not shown our certificate where the public authorities are trusted, either", async () => {
    await using world = await startWithLoginElsewhere();
    const definition = { name: "far", url: "https://mcp.test/mcp", auth: world.auth, tls: ours };
    const { stdout } = await runTrusting(
      `import { McpClient } from "./src/index.ts";
      const client = new McpClient(${JSON.stringify(definition)});
      console.log((await client.callTool({ name: "echo", args: { text: "in" } })).text());
      await client.close();`,
      { HTTPS_PROXY: world.proxy.url },
    );
    expect(stdout).toBe("in\n");
    expect(new Set(world.server.clients)).toEqual(new Set(["Test only: client"]));
    expect(new Set(world.login.clients)).toEqual(new Set([undefined]));
  });

  it("goes by the caller's own dispatcher", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url);
    await using agent = closing(new Agent());
    const carried: string[] = [];
    const dispatcher = agent.value.compose((dispatch) => (options, handler) => {
      carried.push(options.path);
      return dispatch(options, handler);
    });
    await using far = client({ url: gated.url, auth: oauth(gated), dispatcher });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(carried).toContain("/token");
  });

  it("goes by the caller's own fetch", async () => {
    await using server = await startMcpTestServer();
    await using gated = await OAuthServer.start(server.url);
    const carried: string[] = [];
    await using far = client({
      url: gated.url,
      auth: oauth(gated),
      fetch: (url, request) => {
        carried.push(new URL(url).pathname);
        return fetch(url, request);
      },
    });
    expect((await far.callTool(echo("in"))).text()).toBe("in");
    expect(carried).toContain("/token");
  });
});

/** Runs a script where Node trusts our authority as it does the public ones: that is settled at the start. */
function runTrusting(script: string, env: Readonly<Record<string, string>>) {
  const trusted = fileURLToPath(new URL("../../fixtures/certificates/authority.pem", import.meta.url));
  return promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    env: { ...process.env, NODE_EXTRA_CA_CERTS: trusted, ...env },
  });
}

/** A server at mcp.test whose tokens are given at proxy.test; both ask for a certificate, and take none. */
async function startWithLoginElsewhere() {
  const asks = { ca: authority, requestCert: true, rejectUnauthorized: false };
  const origin = "https://proxy.test";
  const mcp = await startMcpTestServer();
  const oauth = await OAuthServer.start(mcp.url, origin);
  const workload = signingKey();
  oauth.trusted = workload.publicKey;
  oauth.resourceStatus = 404;
  const server = await startTlsFront(`http://127.0.0.1:${oauth.port}/mcp`, asks);
  const login = await startTlsFront(`http://127.0.0.1:${oauth.port}`, asks);
  const proxy = await startConnectProxy({ hosts: { "mcp.test": server.port, "proxy.test": login.port } });
  const assertion = signJwt(workload, { aud: origin, exp: Math.floor(Date.now() / 1000) + 600 });
  return {
    server,
    login,
    proxy,
    auth: { grant: "jwt-bearer" as const, issuer: origin, assertion },
    async [Symbol.asyncDispose]() {
      for (const started of [proxy, login, server, oauth, mcp]) await started[Symbol.asyncDispose]();
    },
  };
}

function closing(value: Agent) {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

/** Takes connections, listens, and never says a word. */
async function startSilentServer() {
  const sockets = new Set<Socket>();
  const listener = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      silent.heard += chunk.length;
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const silent = {
    port: (listener.address() as AddressInfo).port,
    heard: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  return silent;
}

async function unusedPort(): Promise<number> {
  const silent = await startSilentServer();
  await silent[Symbol.asyncDispose]();
  return silent.port;
}
