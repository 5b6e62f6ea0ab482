import { describe, expect, it, vi } from "vitest";
import { createTestClient, echo, eventually, rejection } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { startTlsProxy, type TlsProxy } from "../../fixtures/tls-proxy.js";
import { startRawWebSocket } from "../../fixtures/websocket-server.js";

const ca = readPemFile("authority");
const clientCertificate = { cert: readPemFile("client"), key: readPemFile("client-key") };
const requiresClientCertificate = { ca, requestCert: true, rejectUnauthorized: true };

function toSecureUrl({ url }: TlsProxy): string {
  return url.replace("https:", "wss:");
}

describe("a WebSocket over TLS", () => {
  it("trusts the authority of tls.ca and presents the client certificate", async () => {
    await using host = await startRawWebSocket();
    await using tlsProxy = await startTlsProxy(host.url, requiresClientCertificate);
    await using client = createTestClient(toSecureUrl(tlsProxy), { tls: { ca, ...clientCertificate } });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(tlsProxy.clientNames).toEqual(["Test only: client"]);
  });

  it.each([
    ["its certificate is not trusted", {}, {}, { message: expect.stringContaining("tls.ca") }],
    [
      "its certificate has expired",
      { cert: readPemFile("expired") },
      { tls: { ca } },
      { cause: { code: "CERT_HAS_EXPIRED" } },
    ],
    [
      "it requires a client certificate",
      requiresClientCertificate,
      { tls: { ca } },
      { message: expect.stringContaining("tls.cert and tls.key") },
    ],
  ])("is not opened when %s", async (_, options, definition, expected) => {
    await using host = await startRawWebSocket();
    await using tlsProxy = await startTlsProxy(host.url, options);
    await using client = createTestClient(toSecureUrl(tlsProxy), definition);
    expect(await rejection(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
      ...expected,
    });
    expect(host.upgrades).toEqual([]);
  });

  it("needs wss://: with ws:// the tls options have no effect, which is a warning", async () => {
    await using host = await startRawWebSocket();
    await using client = createTestClient(host, { tls: { ca } });
    const warnings: unknown[] = [];
    client.on("warning", (warning) => warnings.push(warning));
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(warnings).toEqual([{ server: "test", message: expect.stringContaining("tls has no effect") }]);
  });
});

describe("a WebSocket through the proxy of the environment", () => {
  it.each([
    ["ws", "HTTP_PROXY", "mcp.test:80"],
    ["wss", "HTTPS_PROXY", "mcp.test:443"],
  ])("is opened through its tunnel (%s)", async (protocol, variable, authority) => {
    await using host = await startRawWebSocket();
    await using tlsProxy = await startTlsProxy(host.url);
    const hosts = { "mcp.test:80": Number(new URL(host.url).port), "mcp.test:443": tlsProxy.port };
    await using proxy = await startConnectProxy({ hosts });
    vi.stubEnv(variable, proxy.url);
    await using client = createTestClient(`${protocol}://mcp.test/mcp`, { tls: { ca } });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(proxy.connectRequests.map(({ authority: asked }) => asked)).toEqual([authority]);
    expect(host.upgrades[0]?.headers.host).toBe("mcp.test");
  });

  it("that never responds is aborted when the client is closed", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, response: "nothing" });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const client = createTestClient("ws://far.test/mcp");
    const call = rejection(client.callTool(echo()));
    await eventually(() => proxy.connectRequests.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });
});
