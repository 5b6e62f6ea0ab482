// Workers share a tool cache: the first one lists the tools, the others read them from the store (Redis if
// REDIS_URL is set, files otherwise). The registry finds the servers that have a tool.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMcpTools } from "langchain-mcp-runtime";
import { ToolRegistry } from "langchain-mcp-runtime/manager";
import { fileStore, redisStore } from "langchain-mcp-runtime/stores";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const { REDIS_URL } = process.env;
const folder = await mkdtemp(join(tmpdir(), "shared-cache-"));
try {
  await using store = REDIS_URL === undefined ? fileStore(folder) : redisStore(REDIS_URL);
  await using server = await startMcpTestServer({
    tools: [{ name: "forecast", description: "Returns the weather.", run: () => "sun" }],
  });
  const servers = { weather: { url: server.url } };
  const listRequests = () => server.received("tools/list").length;

  await using first = await createMcpTools(servers, { cache: { store } });
  console.log(`first worker:  ${first.tools.length} tool, tools/list requests: ${listRequests()}`);
  await using second = await createMcpTools(servers, { cache: { store } });
  console.log(`second worker: ${second.tools.length} tool, tools/list requests: ${listRequests()}`);

  await using registry = new ToolRegistry(first, { stores: [store] });
  for (const { server: name, version, health } of await registry.find("forecast"))
    console.log(`"forecast" is on server "${name}", version ${version}, health: ${health.state}`);
} finally {
  await rm(folder, { recursive: true });
}
