// Workers that share what servers offer: one of them lists, the others have their tools at once.
// With REDIS_URL through that Redis, else through files. The registry tells which server has a tool.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMcpTools, ToolRegistry } from "langchain-mcp-runtime";
import { fileStore, redisStore } from "langchain-mcp-runtime/stores";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const { REDIS_URL } = process.env;
const folder = await mkdtemp(join(tmpdir(), "shared-cache-"));
try {
  await using store = REDIS_URL === undefined ? fileStore(folder) : redisStore(REDIS_URL);
  await using server = await startMcpTestServer({
    tools: [{ name: "forecast", description: "The weather.", run: () => "sun" }],
  });
  const servers = { weather: { url: server.url } };
  const lists = () => server.received("tools/list").length;

  await using first = await createMcpTools(servers, { cache: { store } });
  console.log(`first worker:  ${first.tools.length} tool, the server was asked ${lists()} time`);
  await using second = await createMcpTools(servers, { cache: { store } });
  console.log(`second worker: ${second.tools.length} tool, the server was asked ${lists()} time`);

  await using registry = new ToolRegistry(first, { stores: [store] });
  for (const { server: name, version, health } of await registry.find("forecast"))
    console.log(`"forecast" is on server "${name}", version ${version}, which is ${health.state}`);
} finally {
  await rm(folder, { recursive: true });
}
