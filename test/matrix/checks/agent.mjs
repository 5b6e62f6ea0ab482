import { createModel, withApprovedTools } from "./support.mjs";

export const packages = [
  "@langchain/core/language_models/chat_models",
  "@langchain/core/messages",
  "@langchain/langgraph",
  "langchain",
  "langchain-mcp-runtime",
  "langchain-mcp-runtime/langchain",
  "langchain-mcp-runtime/testing",
];

/** `createAgent` with `mcpMiddleware`: interrupted for approval, resumed, and the tool runs. */
export async function check(modules) {
  const { createAgent } = modules["langchain"];
  const { Command, MemorySaver } = modules["@langchain/langgraph"];
  const { mcpMiddleware } = modules["langchain-mcp-runtime/langchain"];
  return withApprovedTools(modules, async (mcp) => {
    const agent = createAgent({
      model: createModel(modules),
      tools: mcp.tools,
      middleware: [mcpMiddleware(mcp, { disclosure: "search" })],
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "1" } };
    const paused = await agent.invoke({ messages: [{ role: "user", content: "go" }] }, config);
    if (paused.__interrupt__ === undefined) throw new Error("The agent was not interrupted for approval.");
    const resume = { decisions: [{ type: "approve" }] };
    const { messages } = await agent.invoke(new Command({ resume }), config);
    return messages.find((message) => message.name === "web__echo")?.content;
  });
}
