// A LangGraph agent with servers that are added and disconnected at run time. The same compiled graph uses the
// current tools; a call to a disconnected server returns an error to the model and does not end the run.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createMcpTools } from "langchain-mcp-runtime";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using weather = await startMcpTestServer({ tools: [{ name: "forecast", run: () => "sun" }] });
await using news = await startMcpTestServer({ tools: [{ name: "headlines", run: () => "no news today" }] });
await using mcp = await createMcpTools({ weather: { url: weather.url } });
mcp.on("serverChanged", ({ server, state }) => console.log(`   ${server}: ${state}`));

const model = fakeModel()
  .respondWithTools([{ name: "weather__forecast", args: {} }])
  .respond(new AIMessage("Sunny."))
  .respondWithTools([
    { name: "news__headlines", args: {} },
    { name: "weather__forecast", args: {} },
  ])
  .respond(new AIMessage("There is no news today; the weather service is disconnected."));
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

console.log("1. With one server.");
await ask("What is the weather?");
console.log("2. The same graph after one server was added and one disconnected.");
await mcp.servers.add("news", { url: news.url });
await mcp.servers.disconnect("weather");
await ask("And the news?");
