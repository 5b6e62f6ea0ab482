// A server restarts between two calls; the client recovers transparently.
import { McpClient } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [
    {
      name: "forecast",
      description: "Returns the weather of a city.",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      run: ({ city }) => `${String(city)}: 7 °C, light rain`,
    },
  ],
});

await using client = new McpClient({ name: "weather", url: server.url });
client.on("sessionOpened", ({ generation }) => console.log(`   session ${generation} opened`));
client.on("sessionLost", ({ generation }) => console.log(`   session ${generation} lost`));

const callForecast = async () => {
  const result = await client.callTool({ name: "forecast", args: { city: "Oslo" } });
  console.log(`   ${result.text()}`);
};

console.log("1. The first call opens the connection and the session.");
await callForecast();

console.log("2. The server is restarted.");
await server.restart();

console.log("3. The next call works: one new handshake, and nothing is executed twice.");
await callForecast();

console.log(`   the tool was executed ${server.executions.length} times for 2 calls`);
