import { createModel, withApprovedTools } from "./support.mjs";

export const packages = [
  "@langchain/core/language_models/chat_models",
  "@langchain/core/messages",
  "@langchain/langgraph",
  "@langchain/langgraph/prebuilt",
  "langchain-mcp-runtime",
  "langchain-mcp-runtime/langgraph",
  "langchain-mcp-runtime/testing",
];

/** A graph with `McpToolNode`: interrupted for approval, resumed, and the tool runs. */
export async function check(modules) {
  const { Command, MemorySaver, MessagesAnnotation, StateGraph } = modules["@langchain/langgraph"];
  const { toolsCondition } = modules["@langchain/langgraph/prebuilt"];
  const { McpToolNode } = modules["langchain-mcp-runtime/langgraph"];
  return withApprovedTools(modules, async (mcp) => {
    const model = createModel(modules);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", new McpToolNode(mcp))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", toolsCondition)
      .addEdge("tools", "model")
      .compile({ checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "1" } };
    await graph.invoke({ messages: [{ role: "user", content: "go" }] }, config);
    const { tasks } = await graph.getState(config);
    if (!tasks.some(({ interrupts }) => interrupts.length > 0))
      throw new Error("The graph was not interrupted for approval.");
    const resume = { decisions: [{ type: "approve" }] };
    const { messages } = await graph.invoke(new Command({ resume }), config);
    return messages.find((message) => message.name === "web__echo")?.content;
  });
}
