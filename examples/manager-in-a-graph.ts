// A LangGraph agent over servers that come and go: one is added while the graph is held, one is let go.
// The same compiled graph calls what is there now; what is not is answered, and never ends the run.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createMcpTools } from "langchain-mcp-runtime";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using weather = await startMcpTestServer({ tools: [{ name: "forecast", run: () => "sun" }] });
await using news = await startMcpTestServer({ tools: [{ name: "headlines", run: () => "all is well" }] });
await using mcp = await createMcpTools({ weather: { url: weather.url } });
mcp.on("serverChanged", ({ server, state }) => console.log(`   ${server}: ${state}`));

const model = fakeModel()
  .respondWithTools([{ name: "weather__forecast", args: {} }])
  .respond(new AIMessage("Sunny."))
  .respondWithTools([
    { name: "news__headlines", args: {} },
    { name: "weather__forecast", args: {} },
  ])
  .respond(new AIMessage("The news are good; the weather service is gone."));
const tools = new McpToolNode(mcp);
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({
    messages: [await model.bindTools(mcp.tools).invoke(messages)],
  }))
  .addNode("tools", tools)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) =>
    (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
  )
  .addEdge("tools", "model")
  .compile();

async function ask(question: string): Promise<void> {
  const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] });
  for (const message of messages.slice(2)) console.log(`   ${message.text}`);
}

console.log("1. one server");
await ask("How is the weather?");
console.log("2. one more, and one less, under the same graph");
await mcp.servers.add("news", { url: news.url });
await mcp.servers.disconnect("weather");
await ask("And the news?");
