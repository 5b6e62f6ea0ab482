import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** The MCP SDK client alone: no LangChain, no tool conversion. */
export async function open(servers) {
  const opened = await Promise.all(
    Object.entries(servers).map(async ([server, url]) => {
      const client = new Client({ name: "bench", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return { server, client, tools: (await client.listTools()).tools };
    }),
  );
  const clientsByServer = new Map(opened.map(({ server, client }) => [server, client]));
  return {
    toolCount: opened.reduce((sum, { tools }) => sum + tools.length, 0),
    call: async ({ server, tool, args }) => {
      const { content } = await clientsByServer.get(server).callTool({ name: tool, arguments: args });
      return content[0].text;
    },
    close: () => Promise.all(opened.map(({ client }) => client.close())),
  };
}
