// Several servers in one toolset: one is slow, one is added later, one changes its tools. Startup waits for
// none of them, and `mcp.tools` is always up to date.
import { createMcpTools } from "langchain-mcp-runtime";
import { memoryStore } from "langchain-mcp-runtime/stores";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const forecast = { name: "forecast", run: () => "sun" };
const tides = { name: "tides", run: () => "high at noon" };
const search = { name: "search", run: () => "three books" };
await using weather = await startMcpTestServer({ tools: [forecast] });
await using library = await startMcpTestServer({ tools: [search] });
await using store = memoryStore(); // use fileStore() to keep the tools across restarts

const servers = { weather: { url: weather.url }, library: { url: library.url } };
await (await createMcpTools(servers, { cache: { store } })).close();

// In the second run, the library server is slow.
library.addFault({ type: "delay", ms: 1_500 }, { method: "initialize", times: 1 });
await using mcp = await createMcpTools(servers, { cache: { store } });
const names = () => mcp.tools.map(({ name }) => name).join(", ");
console.log(`1. ${names()}; library: ${mcp.status().library.state}`);

const result = await mcp.callTool({ name: "search" });
console.log(`2. the call waited for the server: ${result.text()}`);

await using news = await startMcpTestServer({ tools: [{ name: "headlines", run: () => "no news today" }] });
await mcp.servers.add("news", { url: news.url });
console.log(`3. ${names()}`);

const changed = new Promise<void>((resolve) => mcp.on("toolsChanged", () => resolve()));
weather.tools = [forecast, tides];
await mcp.refresh(); // not needed if the server sends notifications/tools/list_changed
await changed;
console.log(`4. ${names()}`);

await mcp.servers.disconnect("library");
const outcome = await mcp.tryCallTool({ name: "search" });
console.log(`5. ${outcome.ok ? "" : outcome.error.message}`);
