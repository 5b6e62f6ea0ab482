import { MCPClient } from "@mastra/mcp";

export async function open(servers) {
  const definitions = Object.fromEntries(
    Object.entries(servers).map(([name, url]) => [name, { url: new URL(url) }]),
  );
  // Its clients are kept by id for the process: two of the same servers need two.
  const client = new MCPClient({ id: crypto.randomUUID(), servers: definitions });
  const tools = await client.listTools();
  return {
    toolCount: Object.keys(tools).length,
    call: async ({ server, tool, args }) => textOf(await tools[`${server}_${tool}`].execute(args, {})),
    close: () => client.disconnect(),
  };
}

/** Arguments that do not fit come back as a value, with a message. */
function textOf(result) {
  const text = result?.content?.[0]?.text;
  if (text === undefined || result.isError) throw new Error(text ?? result?.message ?? "no content");
  return text;
}
