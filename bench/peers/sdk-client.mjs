import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** The protocol and nothing else: no LangChain, no conversion. */
export async function open(servers) {
  const opened = await Promise.all(
    Object.entries(servers).map(async ([server, url]) => {
      const client = new Client({ name: "bench", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return { server, client, tools: (await client.listTools()).tools };
    }),
  );
  const clientOf = new Map(opened.map(({ server, client }) => [server, client]));
  return {
    toolCount: opened.reduce((sum, { tools }) => sum + tools.length, 0),
    call: async ({ server, tool, args }) => {
      const { content } = await clientOf.get(server).callTool({ name: tool, arguments: args });
      return content[0].text;
    },
    close: () => Promise.all(opened.map(({ client }) => client.close())),
  };
}
