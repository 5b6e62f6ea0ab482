import {
  Agent,
  connectMcpServers,
  getAllMcpTools,
  MCPServerStreamableHttp,
  RunContext,
} from "@openai/agents";

/** Servers connect concurrently, which is not the default, and failures are thrown. */
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
  const toolsByServer = new Map(listed);
  return {
    toolCount: listed.reduce((sum, [, tools]) => sum + tools.size, 0),
    // This library takes arguments as the JSON string of a model, so serializing them is part of a call.
    call: async ({ server, tool, args }) =>
      toText(await toolsByServer.get(server).get(tool).invoke(context, JSON.stringify(args))),
    close: () => connected.close(),
  };
}

function toText(output) {
  const [first] = Array.isArray(output) ? output : [output];
  return typeof first === "string" ? first : first.text;
}
