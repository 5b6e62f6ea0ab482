// An agent with the tools of an MCP server. The model is scripted, and the server runs in this process.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [{ name: "forecast", run: ({ city }) => `${String(city)}: 7 °C, light rain` }],
});
await using mcp = await createMcpTools({ weather: { url: server.url } });

const llm = fakeModel()
  .respondWithTools([{ name: "weather__forecast", args: { city: "Oslo" } }])
  .respond(new AIMessage("Take an umbrella."));
const agent = createReactAgent({ llm, tools: mcp.tools });
const { messages } = await agent.invoke({ messages: "What is the weather in Oslo?" });
for (const message of messages) console.log(`${message.getType()}: ${message.text}`);
