import { createMCPClient } from "@ai-sdk/mcp";

/** One client connects to one server; clients are opened concurrently. */
export async function open(servers) {
  const opened = await Promise.all(
    Object.entries(servers).map(async ([server, url]) => {
      const client = await createMCPClient({ transport: { type: "http", url } });
      return { server, client, tools: await client.tools() };
    }),
  );
  const toolsByServer = new Map(opened.map(({ server, tools }) => [server, tools]));
  return {
    toolCount: opened.reduce((sum, { tools }) => sum + Object.keys(tools).length, 0),
    call: async ({ server, tool, args }) => {
      const options = { toolCallId: "1", messages: [] };
      return toText(await toolsByServer.get(server)[tool].execute(args, options));
    },
    close: () => Promise.all(opened.map(({ client }) => client.close())),
  };
}

function toText({ content, isError }) {
  if (isError) throw new Error(content[0].text);
  return content[0].text;
}
