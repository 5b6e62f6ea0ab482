import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Agent, fetch } from "undici";
import { vi } from "vitest";
import { McpClient, type ServerDefinition } from "../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../src/testing/index.js";
import { createTestClient, NO_RETRY } from "../fixtures/clients.js";
import { startConnectProxy } from "../fixtures/connect-proxy.js";
import { ERAS, EraServer } from "../fixtures/era-server.js";
import { readPemFile } from "../fixtures/read-pem-file.js";
import { startTlsProxy } from "../fixtures/tls-proxy.js";
import { createStdioClient, stdioServer } from "../fixtures/stdio-servers.js";
import { ToolHost } from "../fixtures/tool-host.js";
import { SseServer } from "../fixtures/sse-server.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

function createSubject(
  server: ContractSubject["server"] & Pick<McpTestServer, "close">,
  client: McpClient,
  lifecycle: Pick<ContractSubject, "kill" | "revive">,
): ContractSubject {
  return {
    server,
    client,
    isClean: () => server.openSockets === 0 && server.openSessions.length === 0,
    ...lifecycle,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

for (const responseFormat of ["json", "sse"] as const) {
  describeTransport(`Streamable HTTP, ${responseFormat} responses`, async (tools) => {
    const server = await startMcpTestServer({ tools, responseFormat });
    return createSubject(server, createTestClient(server), {
      kill: () => server.stop(),
      revive: () => server.start(),
    });
  });
}

for (const type of ["sse", "http"] as const) {
  describeTransport(`SSE, ${type === "sse" ? "configured" : "detected"}`, async (tools) => {
    const server = await SseServer.start({ tools });
    const client = new McpClient({ name: "sse", type, url: server.url, ...NO_RETRY });
    return createSubject(server, client, { kill: () => server.stop(), revive: () => server.start() });
  });
}

/** A client that connects through intermediaries, which are disposed after it. */
function createIndirectSubject(
  server: McpTestServer | SseServer,
  definition: ServerDefinition,
  ...intermediaries: readonly AsyncDisposable[]
): ContractSubject {
  const client = new McpClient({ name: "indirect", ...NO_RETRY, ...definition } as never);
  const subject = createSubject(server, client, { kill: () => server.stop(), revive: () => server.start() });
  return {
    ...subject,
    async [Symbol.asyncDispose]() {
      await subject[Symbol.asyncDispose]();
      for (const intermediary of intermediaries) await intermediary[Symbol.asyncDispose]();
    },
  };
}

describeTransport("Streamable HTTP over mutual TLS", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const ca = readPemFile("authority");
  const front = await startTlsProxy(server.url, { ca, requestCert: true, rejectUnauthorized: true });
  const tls = { ca, cert: readPemFile("client"), key: readPemFile("client-key") };
  return createIndirectSubject(server, { url: front.url, tls }, front);
});

describeTransport("Streamable HTTP over TLS through a proxy", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const front = await startTlsProxy(server.url);
  const proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
  vi.stubEnv("HTTPS_PROXY", proxy.url);
  const tls = { ca: readPemFile("authority") };
  return createIndirectSubject(server, { url: "https://mcp.test/mcp", tls }, front, proxy);
});

// Connections of a user's dispatcher are not closed by the client, so they have a short keep-alive.
const createShortLivedAgent = () => {
  const agent = new Agent({ keepAliveTimeout: 20, keepAliveMaxTimeout: 20 });
  return { agent, [Symbol.asyncDispose]: () => agent.close() };
};

describeTransport("Streamable HTTP with a custom dispatcher", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const connections = createShortLivedAgent();
  return createIndirectSubject(server, { url: server.url, dispatcher: connections.agent }, connections);
});

for (const responseFormat of ["json", "sse"] as const) {
  describeTransport(`Streamable HTTP with a custom fetch, ${responseFormat} responses`, async (tools) => {
    const server = await startMcpTestServer({ tools, responseFormat });
    const connections = createShortLivedAgent();
    const definition = {
      url: server.url,
      fetch: (url: string, request: object) => fetch(url, { ...request, dispatcher: connections.agent }),
    };
    return createIndirectSubject(server, definition, connections);
  });
}

describeTransport("stdio", async (tools) => {
  const toolHost = await ToolHost.open(tools);
  const client = createStdioClient(stdioServer("remote-tools", String(toolHost.port)));
  return createSubject(toolHost, client, { kill: () => toolHost.killAll(), revive: async () => undefined });
});

describeTransport("SSE with a custom fetch", async (tools) => {
  const server = await SseServer.start({ tools });
  const connections = createShortLivedAgent();
  const definition = {
    type: "sse" as const,
    url: server.url,
    fetch: (url: string, request: object) => fetch(url, { ...request, dispatcher: connections.agent }),
  };
  return createIndirectSubject(server, definition, connections);
});

for (const era of ERAS) {
  describeTransport(`in-process, a ${era} server`, async (tools) => {
    const server = new EraServer(era, { tools });
    const links: { close(): Promise<void> }[] = [];
    const client = new McpClient({
      name: "linked",
      server: () => ({
        connect: async (transport) => {
          links.push(transport);
          await server.connect(transport);
        },
      }),
    });
    return createSubject(server, client, {
      kill: async () => {
        await Promise.all(links.map((link) => link.close()));
      },
      revive: async () => undefined,
    });
  });
}

describeTransport(
  "a custom transport: the SDK's HTTP transport, JSON responses",
  async (tools: readonly TestTool[]) => {
    const server = await startMcpTestServer({ tools, responseFormat: "json" });
    const connections = createShortLivedAgent();
    const fetchWithAgent = (url: string | URL, request: object = {}) =>
      fetch(url, { ...request, dispatcher: connections.agent });
    const openTransport = () =>
      new StreamableHTTPClientTransport(new URL(server.url), { fetch: fetchWithAgent as never });
    return createIndirectSubject(server, { openTransport }, connections);
  },
);
