import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpClient } from "../../src/index.js";
import { McpTestServer, startMcpTestServer, type TestTool } from "../../src/testing/index.js";
import { clientOf } from "../support/clients.js";
import { type ContractSubject, describeTransport } from "./transport-contract.js";

function subjectOf(
  server: McpTestServer,
  client: McpClient,
  life: Pick<ContractSubject, "kill" | "revive">,
): ContractSubject {
  return {
    server,
    client,
    ...life,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

for (const answers of ["json", "sse"] as const) {
  describeTransport(`Streamable HTTP, ${answers} answers`, async (tools) => {
    const server = await startMcpTestServer({ tools, answers });
    return subjectOf(server, clientOf(server), { kill: () => server.stop(), revive: () => server.start() });
  });
}

describeTransport("in-process", async (tools) => {
  const server = new McpTestServer({ tools });
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

describeTransport(
  "one of the user's own: the SDK's HTTP transport, JSON answers",
  async (tools: readonly TestTool[]) => {
    const server = await startMcpTestServer({ tools, answers: "json" });
    const client = new McpClient({
      name: "custom",
      openTransport: () => new StreamableHTTPClientTransport(new URL(server.url)),
    });
    return subjectOf(server, client, { kill: () => server.stop(), revive: () => server.start() });
  },
);
