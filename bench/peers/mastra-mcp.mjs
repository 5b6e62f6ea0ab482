import { MCPClient } from "@mastra/mcp";

export async function open(servers) {
  const definitions = Object.fromEntries(
    Object.entries(servers).map(([name, url]) => [name, { url: new URL(url) }]),
  );
  // Clients are cached by id per process: a second client for the same servers needs another id.
  const client = new MCPClient({ id: crypto.randomUUID(), servers: definitions });
  const tools = await client.listTools();
  return {
    toolCount: Object.keys(tools).length,
    call: async ({ server, tool, args }) => toText(await tools[`${server}_${tool}`].execute(args, {})),
    close: () => client.disconnect(),
  };
}

/** Invalid arguments are returned as a value with a message, not thrown. */
function toText(result) {
  const text = result?.content?.[0]?.text;
  if (text === undefined || result.isError) throw new Error(text ?? result?.message ?? "no content");
  return text;
}
