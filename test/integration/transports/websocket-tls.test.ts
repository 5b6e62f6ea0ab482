import { afterEach, describe, expect, it, vi } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { startTlsFront, type TlsFront } from "../../fixtures/tls-proxy.js";
import { startRawWebSocket } from "../../fixtures/websocket-server.js";

const ca = pemFile("authority");
const ours = { cert: pemFile("client"), key: pemFile("client-key") };
const asksForOurs = { ca, requestCert: true, rejectUnauthorized: true };

function clientOf(url: string, definition: object = {}): McpClient {
  return new McpClient({ name: "far", ...ONCE, url, ...definition });
}

function secure({ url }: TlsFront): string {
  return url.replace("https:", "wss:");
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a WebSocket over TLS", () => {
  it("trusts the authority of tls.ca, and shows our certificate", async () => {
    await using host = await startRawWebSocket();
    await using front = await startTlsFront(host.url, asksForOurs);
    await using client = clientOf(secure(front), { tls: { ca, ...ours } });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(front.clients).toEqual(["Test only: client"]);
  });

  it.each([
    ["nobody vouches for its certificate", {}, {}, "give it as tls.ca"],
    ["its certificate has expired", { cert: pemFile("expired") }, { tls: { ca } }, "has expired"],
    ["it asks for ours", asksForOurs, { tls: { ca } }, "give tls.cert and tls.key"],
  ])("is sent nothing when %s", async (_, options, definition, advice) => {
    await using host = await startRawWebSocket();
    await using front = await startTlsFront(host.url, options);
    await using client = clientOf(secure(front), definition);
    expect(await failureOf(client.callTool(echo()))).toMatchObject({
      kind: "not-sent",
      outcomeUnknown: false,
      message: expect.stringContaining(advice),
    });
    expect(host.upgrades).toEqual([]);
  });

  it("is another thing than one without, where tls has no effect", async () => {
    await using host = await startRawWebSocket();
    await using client = clientOf(host.url, { tls: { ca } });
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(warnings).toEqual(['Server "far": tls has no effect on an address that starts with ws://.']);
  });
});

describe("a WebSocket through the proxy of the environment", () => {
  it.each([
    ["ws", "HTTP_PROXY", "mcp.test:80"],
    ["wss", "HTTPS_PROXY", "mcp.test:443"],
  ])("is opened through its tunnel (%s)", async (protocol, variable, authority) => {
    await using host = await startRawWebSocket();
    await using front = await startTlsFront(host.url);
    const hosts = { "mcp.test:80": Number(new URL(host.url).port), "mcp.test:443": front.port };
    await using proxy = await startConnectProxy({ hosts });
    vi.stubEnv(variable, proxy.url);
    await using client = clientOf(`${protocol}://mcp.test/mcp`, { tls: { ca } });
    expect((await client.callTool(echo())).text()).toBe("ok");
    expect(proxy.asked.map(({ authority: asked }) => asked)).toEqual([authority]);
    expect(host.upgrades[0]?.headers.host).toBe("mcp.test");
  });

  it("that never answers is given up when the client is closed", async () => {
    await using proxy = await startConnectProxy({ hosts: {}, answers: "nothing" });
    vi.stubEnv("HTTP_PROXY", proxy.url);
    const client = clientOf("ws://far.test/mcp");
    const call = failureOf(client.callTool(echo()));
    await eventually(() => proxy.asked.length === 1);
    await client.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => proxy.openSockets === 0);
  });
});
