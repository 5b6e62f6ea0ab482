import { MultiServerMCPClient } from "@langchain/mcp-adapters";

export async function open(servers) {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, url]) => [name, { transport: "http", url }]),
  );
  const client = new MultiServerMCPClient({ mcpServers, prefixToolNameWithServerName: true });
  const tools = await client.getTools();
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    toolCount: tools.length,
    call: ({ server, tool, args }) => byName.get(`${server}__${tool}`).invoke(args),
    close: () => client.close(),
  };
}
