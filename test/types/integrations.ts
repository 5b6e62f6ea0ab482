// Type tests, compiled but never run: how the LangChain and LangGraph integrations fit into agents.
import type { BaseMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, toolsCondition } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import type { McpToolset, ToolProgress } from "langchain-mcp-runtime";
import { mcpMiddleware } from "langchain-mcp-runtime/langchain";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";

export async function middlewareKeepsAgentTypes(
  model: BaseChatModel,
  mcp: McpToolset<"weather">,
): Promise<BaseMessage[]> {
  const agent = createAgent({ model, tools: mcp.tools, middleware: [mcpMiddleware(mcp)] });
  const { messages } = await agent.invoke({ messages: "Hello." });
  mcpMiddleware(mcp, { servers: ["weather"], name: "custom" });
  // @ts-expect-error unknown server
  mcpMiddleware(mcp, { servers: ["wether"] });
  return messages;
}

export function toolNodeFitsIntoGraphs(model: BaseChatModel, mcp: McpToolset<"weather">): void {
  const tools = new McpToolNode(mcp, { servers: ["weather"] });
  createReactAgent({ llm: model, tools });
  new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", tools)
    .addEdge("__start__", "model")
    .addConditionalEdges("model", toolsCondition)
    .addEdge("tools", "model")
    .compile();
  // @ts-expect-error unknown server
  void new McpToolNode(mcp, { servers: ["wether"] });
}

export function progressIsTyped({ progress, total, tool }: ToolProgress): string {
  return `${tool}: ${progress} of ${total ?? "?"}`;
}
