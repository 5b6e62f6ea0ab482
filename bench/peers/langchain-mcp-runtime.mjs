import { createMcpTools, createMcpToolsFromAgent } from "../../dist/index.js";
import { createBenchTools } from "../servers/bench-tools.mjs";

/** All options at their defaults. */
export async function open(servers) {
  return toOpened(await createMcpTools(toDefinitions(servers)));
}

/**
 * For a process that follows another one, as in serverless functions: sessions are in a file store, and the tool lists in the
 * store, too, or as snapshots in an agent definition.
 */
export async function openStored(servers, { folder, tools }) {
  const { fileStore } = await import("../../dist/stores/index.js");
  const store = fileStore(folder);
  const definitions = toDefinitions(servers, { session: { store } });
  if (tools === "store")
    return toOpened(await createMcpTools(definitions, { cache: { store }, live: false }));
  const resources = Object.keys(servers).map((name) => ({
    $resourceType: "mcp",
    name,
    dynamicTools: "none",
    availableTools: createBenchTools(3),
  }));
  return toOpened(
    await createMcpToolsFromAgent(
      { resources },
      { servers: definitions, naming: { prefix: "server" }, live: false },
    ),
  );
}

function toDefinitions(servers, options = {}) {
  return Object.fromEntries(Object.entries(servers).map(([name, url]) => [name, { url, ...options }]));
}

function toOpened({ tools, close }) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    toolCount: tools.length,
    call: ({ server, tool, args }) => byName.get(`${server}__${tool}`).invoke(args),
    close,
  };
}
