import { createMcpTools } from "../../dist/index.js";

/** All options at their defaults. */
export async function open(servers) {
  const definitions = Object.fromEntries(Object.entries(servers).map(([name, url]) => [name, { url }]));
  const { tools, close } = await createMcpTools(definitions);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    toolCount: tools.length,
    call: ({ server, tool, args }) => byName.get(`${server}__${tool}`).invoke(args),
    close,
  };
}
