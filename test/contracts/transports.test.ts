import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Agent, fetch } from "undici";
import { afterEach, vi } from "vitest";
import { McpClient, type ServerDefinition } from "../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../src/testing/index.js";
import { clientOf, ONCE } from "../fixtures/clients.js";
import { startConnectProxy } from "../fixtures/connect-proxy.js";
import { ERAS, EraServer } from "../fixtures/era-server.js";
import { pemFile } from "../fixtures/pem-file.js";
import { startTlsFront } from "../fixtures/tls-proxy.js";
import { stdioClient, stdioServer } from "../fixtures/stdio-servers.js";
import { ToolDesk } from "../fixtures/approval-fixture.js";
import { LegacySseServer } from "../fixtures/sse-server.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

function subjectOf(
  server: ContractSubject["server"] & Pick<McpTestServer, "close">,
  client: McpClient,
  life: Pick<ContractSubject, "kill" | "revive">,
): ContractSubject {
  return {
    server,
    client,
    isLeft: () => server.openSockets === 0 && server.openSessions.length === 0,
    ...life,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

for (const answers of ["json", "sse"] as const) {
  describeTransport(`Streamable HTTP, ${answers} answers`, async (tools) => {
    const server = await startMcpTestServer({ tools, responseFormat: answers });
    return subjectOf(server, clientOf(server), { kill: () => server.stop(), revive: () => server.start() });
  });
}

for (const type of ["sse", "http"] as const) {
  describeTransport(`legacy SSE, ${type === "sse" ? "by name" : "fallen back to"}`, async (tools) => {
    const server = await LegacySseServer.start({ tools });
    const client = new McpClient({ name: "legacy", type, url: server.url, ...ONCE });
    return subjectOf(server, client, { kill: () => server.stop(), revive: () => server.start() });
  });
}

/** A client that comes by another way than straight, and what stands on that way. */
function subjectOnTheWay(
  server: McpTestServer | LegacySseServer,
  definition: ServerDefinition,
  ...onTheWay: readonly AsyncDisposable[]
): ContractSubject {
  const client = new McpClient({ name: "on the way", ...ONCE, ...definition } as never);
  const subject = subjectOf(server, client, { kill: () => server.stop(), revive: () => server.start() });
  return {
    ...subject,
    async [Symbol.asyncDispose]() {
      await subject[Symbol.asyncDispose]();
      for (const part of onTheWay) await part[Symbol.asyncDispose]();
    },
  };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describeTransport("Streamable HTTP over TLS, both sides with certificates", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const ca = pemFile("authority");
  const front = await startTlsFront(server.url, { ca, requestCert: true, rejectUnauthorized: true });
  const tls = { ca, cert: pemFile("client"), key: pemFile("client-key") };
  return subjectOnTheWay(server, { url: front.url, tls }, front);
});

describeTransport("Streamable HTTP over TLS through a proxy", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const front = await startTlsFront(server.url);
  const proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
  vi.stubEnv("HTTPS_PROXY", proxy.url);
  const tls = { ca: pemFile("authority") };
  return subjectOnTheWay(server, { url: "https://mcp.test/mcp", tls }, front, proxy);
});

// Connections of the caller's own, which end by themselves: what they leave open is theirs.
const shortLived = () => {
  const agent = new Agent({ keepAliveTimeout: 20, keepAliveMaxTimeout: 20 });
  return { agent, [Symbol.asyncDispose]: () => agent.close() };
};

describeTransport("Streamable HTTP by a dispatcher of the caller's own", async (tools) => {
  const server = await startMcpTestServer({ tools });
  const lent = shortLived();
  return subjectOnTheWay(server, { url: server.url, dispatcher: lent.agent }, lent);
});

for (const answers of ["json", "sse"] as const) {
  describeTransport(`Streamable HTTP by a fetch of the caller's own, ${answers} answers`, async (tools) => {
    const server = await startMcpTestServer({ tools, responseFormat: answers });
    const lent = shortLived();
    const definition = {
      url: server.url,
      fetch: (url: string, request: object) => fetch(url, { ...request, dispatcher: lent.agent }),
    };
    return subjectOnTheWay(server, definition, lent);
  });
}

describeTransport("stdio", async (tools) => {
  const desk = await ToolDesk.open(tools);
  const client = stdioClient(stdioServer("desk", String(desk.port)));
  return subjectOf(desk, client, { kill: () => desk.killAll(), revive: async () => undefined });
});

describeTransport("legacy SSE by a fetch of the caller's own", async (tools) => {
  const server = await LegacySseServer.start({ tools });
  const lent = shortLived();
  const definition = {
    type: "sse" as const,
    url: server.url,
    fetch: (url: string, request: object) => fetch(url, { ...request, dispatcher: lent.agent }),
  };
  return subjectOnTheWay(server, definition, lent);
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
    return subjectOf(server, client, {
      kill: async () => {
        await Promise.all(links.map((link) => link.close()));
      },
      revive: async () => undefined,
    });
  });
}

describeTransport(
  "one of the user's own: the SDK's HTTP transport, JSON answers",
  async (tools: readonly TestTool[]) => {
    const server = await startMcpTestServer({ tools, responseFormat: "json" });
    const lent = shortLived();
    const fetchByIt = (url: string | URL, request: object = {}) =>
      fetch(url, { ...request, dispatcher: lent.agent });
    const openTransport = () =>
      new StreamableHTTPClientTransport(new URL(server.url), { fetch: fetchByIt as never });
    return subjectOnTheWay(server, { openTransport }, lent);
  },
);
