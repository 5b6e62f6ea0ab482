// Tools from an agent definition with tool snapshots, in an `await using` scope: no request is sent before the
// first call, and the session is closed when the scope ends, also by an exception.
import { readFile } from "node:fs/promises";
import { createMcpToolsFromAgent } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const agent = await readFile(new URL("./agent.json", import.meta.url), "utf8");
const [snapshot] = JSON.parse(agent).resources[0].availableTools;

await using server = await startMcpTestServer({
  tools: [
    {
      name: "forecast",
      inputSchema: snapshot.inputSchema, // the snapshot matches the server
      run: ({ city, days, apiKey }) => `${String(city)}, ${String(days)} days, key ${String(apiKey)}`,
    },
  ],
});

try {
  await using mcp = await createMcpToolsFromAgent(agent, {
    servers: { weather: { url: server.url } },
    agentInput: { weatherKey: "k-123" },
  });
  const [forecast] = mcp.tools;
  console.log(`tool ${forecast?.name}, requests so far: ${server.requests.length}`);
  console.log(`the model sees: ${JSON.stringify(forecast?.schema)}`);
  console.log(`the server received: ${String(await forecast?.invoke({ city: "Oslo" }))}`);
  console.log(`open sessions: ${server.openSessions.length}`);
  throw new Error("no umbrella");
} catch (error) {
  console.log(`${String(error)}; open sessions: ${server.openSessions.length}`);
}
