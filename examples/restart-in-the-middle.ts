// The server is restarted in the middle of an agent run, and the run continues.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [{ name: "forecast", run: ({ city }) => `${String(city)}: 7 °C` }],
});
let calls = 0;
await using mcp = await createMcpTools(
  { weather: { url: server.url } },
  {
    afterToolCall: async () => {
      calls += 1;
      if (calls > 1) return;
      console.log("   (the server is restarted)");
      await server.restart();
    },
  },
);
mcp.on("sessionLost", () => console.log("   (the server has lost the session)"));
mcp.on("sessionOpened", () => console.log("   (a new session is opened)"));

const llm = fakeModel()
  .respondWithTools([{ name: "weather__forecast", args: { city: "Oslo" } }])
  .respondWithTools([{ name: "weather__forecast", args: { city: "Rome" } }])
  .respond(new AIMessage("It is 7 °C in both cities."));
const agent = createReactAgent({ llm, tools: mcp.tools });
const { messages } = await agent.invoke({ messages: "Is it warmer in Oslo or in Rome?" });
for (const message of messages) {
  if (message.getType() !== "ai" || message === messages.at(-1))
    console.log(`${message.getType()}: ${message.text}`);
}
console.log(`the tool was executed ${server.executions.length} times for ${calls} calls`);
