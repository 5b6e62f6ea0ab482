import {
  Agent,
  connectMcpServers,
  getAllMcpTools,
  MCPServerStreamableHttp,
  RunContext,
} from "@openai/agents";

/** Servers are connected side by side, which is not its default, and failures are thrown. */
export async function open(servers) {
  const mcpServers = Object.entries(servers).map(
    ([name, url]) => new MCPServerStreamableHttp({ name, url, cacheToolsList: true, errorFunction: null }),
  );
  const connected = await connectMcpServers(mcpServers, { connectInParallel: true, strict: true });
  const context = new RunContext();
  const agent = new Agent({ name: "bench" });
  const listed = await Promise.all(
    mcpServers.map(async (server) => {
      const tools = await getAllMcpTools({ mcpServers: [server], runContext: context, agent });
      return [server.name, new Map(tools.map((tool) => [tool.name, tool]))];
    }),
  );
  const toolsOf = new Map(listed);
  return {
    toolCount: listed.reduce((sum, [, tools]) => sum + tools.size, 0),
    // A model's arguments arrive as text here: writing them is part of the way.
    call: async ({ server, tool, args }) =>
      textOf(await toolsOf.get(server).get(tool).invoke(context, JSON.stringify(args))),
    close: () => connected.close(),
  };
}

function textOf(output) {
  const [first] = Array.isArray(output) ? output : [output];
  return typeof first === "string" ? first : first.text;
}
