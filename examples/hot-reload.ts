// A server adds and removes tools after the agent was created; the agent uses the current tools.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createAgent } from "langchain";
import { createMcpTools } from "langchain-mcp-runtime";
import { mcpMiddleware } from "langchain-mcp-runtime/langchain";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const forecast = { name: "forecast", run: () => "rain" };
await using server = await startMcpTestServer({ tools: [forecast, { name: "radar", run: () => "…" }] });
await using mcp = await createMcpTools({ weather: { url: server.url } });

const model = fakeModel()
  .respondWithTools([{ name: "weather__forecast", args: {} }])
  .respond(new AIMessage("It is raining."))
  .respondWithTools([
    { name: "weather__umbrellas", args: { city: "Oslo" } },
    { name: "weather__radar", args: {} },
  ])
  .respond(new AIMessage("There are three umbrellas in Oslo."));
const agent = createAgent({ model, tools: mcp.tools, middleware: [mcpMiddleware(mcp)] });
await ask("What is the weather?");

const changed = new Promise((resolve) => mcp.on("toolsChanged", resolve));
await server.waitFor("GET"); // the stream for server notifications
server.tools = [forecast, { name: "umbrellas", run: ({ city }) => `three in ${String(city)}` }];
await server.notifyToolsChanged();
await changed;
console.log(`current tools: ${mcp.tools.map(({ name }) => name).join(", ")}`);
await ask("Where can I get an umbrella?");

async function ask(question: string): Promise<void> {
  const { messages } = await agent.invoke({ messages: question });
  for (const message of messages) console.log(`${message.getType()}: ${message.text.split("\n")[0]}`);
}
