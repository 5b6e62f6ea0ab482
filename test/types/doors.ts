// Compiled with the rest and never run: how the doors fit into agents, and what they refuse.
import type { BaseMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, toolsCondition } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import type { McpToolset, ToolProgress } from "langchain-mcp-runtime";
import { mcpMiddleware } from "langchain-mcp-runtime/langchain";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";

export async function anAgentKeepsItsTypes(
  model: BaseChatModel,
  mcp: McpToolset<"weather">,
): Promise<BaseMessage[]> {
  const agent = createAgent({ model, tools: mcp.tools, middleware: [mcpMiddleware(mcp)] });
  const { messages } = await agent.invoke({ messages: "Hello." });
  mcpMiddleware(mcp, { servers: ["weather"], name: "mine" });
  // @ts-expect-error a server that is not there
  mcpMiddleware(mcp, { servers: ["wether"] });
  return messages;
}

export function aNodeIsAToolNode(model: BaseChatModel, mcp: McpToolset<"weather">): void {
  const tools = new McpToolNode(mcp, { servers: ["weather"] });
  createReactAgent({ llm: model, tools });
  new StateGraph(MessagesAnnotation)
    .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", tools)
    .addEdge("__start__", "model")
    .addConditionalEdges("model", toolsCondition)
    .addEdge("tools", "model")
    .compile();
  // @ts-expect-error a server that is not there
  void new McpToolNode(mcp, { servers: ["wether"] });
}

export function progressIsTyped({ progress, total, tool }: ToolProgress): string {
  return `${tool}: ${progress} of ${total ?? "?"}`;
}
