// An agent definition in a LangGraph graph: a model node, a node for the tools of the definition, and the loop
// between them. The graph is compiled before the first request is sent to the server.
import { readFile } from "node:fs/promises";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createMcpToolsFromAgent } from "langchain-mcp-runtime";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const agent = await readFile(new URL("./agent.json", import.meta.url), "utf8");
const [snapshot] = JSON.parse(agent).resources[0].availableTools;
await using server = await startMcpTestServer({
  tools: [{ ...snapshot, run: ({ city, days }) => `${String(city)}: rain for ${String(days)} days` }],
});
await using mcp = await createMcpToolsFromAgent(agent, {
  servers: { weather: { url: server.url } },
  agentInput: { weatherKey: "k-123" },
});

const model = fakeModel() // a scripted model; any chat model with tools takes its place
  .respondWithTools([{ name: "forecast", args: { city: "Oslo" } }])
  .respond(new AIMessage("Take an umbrella for three days."));
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({
    messages: [await model.bindTools(mcp.tools).invoke(messages)],
  }))
  .addNode("tools", new McpToolNode(mcp))
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) =>
    (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
  )
  .addEdge("tools", "model")
  .compile();
console.log(`requests before the run: ${server.requests.length}`);

const { messages } = await graph.invoke({ messages: [new HumanMessage("What is the weather in Oslo?")] });
for (const message of messages) {
  const calls = (message as AIMessage).tool_calls?.map(({ name, args }) => `${name} ${JSON.stringify(args)}`);
  console.log(`${message.getType()}: ${calls?.length ? calls.join() : message.text}`);
}
