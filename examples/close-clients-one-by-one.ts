// An agent with two servers whose clients the caller closes one by one, in an order of its own, without
// `await using`: after the last one, nothing keeps the process alive.
import { createMcpToolsFromAgent } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const inputSchema = { type: "object", properties: { city: { type: "string" } } };
const book = { name: "book", inputSchema, run: () => "booked" };
const forecast = { name: "forecast", inputSchema, run: () => "7 °C, light rain" };
const travel = await startMcpTestServer({ tools: [book] });
const weather = await startMcpTestServer({ tools: [forecast] });
const resource = (name: string, tool: typeof book) => ({
  $resourceType: "mcp",
  name,
  slug: name,
  availableTools: [{ name: tool.name, inputSchema: tool.inputSchema }],
});
const openSessions = () => `travel ${travel.openSessions.length}, weather ${weather.openSessions.length}`;

const { tools, clients } = await createMcpToolsFromAgent(
  { resources: [resource("travel", book), resource("weather", forecast)] },
  { servers: { travel: { url: travel.url }, weather: { url: weather.url } } },
);
try {
  for (const tool of tools) console.log(`${tool.name}: ${String(await tool.invoke({ city: "Oslo" }))}`);
  console.log(`open sessions: ${openSessions()}`);
} finally {
  for (const client of clients) {
    await client.close();
    console.log(`closed ${client.name}; open sessions: ${openSessions()}`);
  }
}
await Promise.all([travel.close(), weather.close()]);
