import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { type BaseCheckpointSaver, Command, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, toolsCondition } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import type { McpToolset } from "../../src/index.js";
import { mcpMiddleware } from "../../src/langchain/index.js";
import { McpToolNode } from "../../src/langgraph/index.js";

export interface ScriptedCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

type Model = ReturnType<typeof fakeModel>;

/** Speaks these calls in one message, then a last word. */
export function scripted(...turns: readonly (readonly ScriptedCall[])[]): Model {
  let id = 0;
  const model = turns.reduce(
    (speaking, calls) => speaking.respondWithTools(calls.map((call) => ({ ...call, id: `call-${++id}` }))),
    fakeModel(),
  );
  return model.respond(new AIMessage("done"));
}

interface AgentParts {
  readonly model: Model;
  readonly mcp: McpToolset;
  readonly checkpointer?: BaseCheckpointSaver;
}

/** What a run gave: its messages, and what it pauses with. */
export interface AgentResult {
  readonly messages: BaseMessage[];
  readonly __interrupt__?: readonly { readonly value?: unknown }[];
}

export interface Agent {
  invoke(input: unknown, config?: object): Promise<AgentResult>;
  stream(input: unknown, config: object): Promise<AsyncIterable<unknown>>;
}

/** The ways into an agent that have a door of ours. */
export const doors: Readonly<Record<string, (parts: AgentParts) => Agent>> = {
  "createAgent with mcpMiddleware": ({ model, mcp, ...options }) =>
    createAgent({
      model,
      tools: mcp.tools,
      middleware: [mcpMiddleware(mcp)],
      ...options,
    }) as unknown as Agent,
  "createReactAgent with McpToolNode": ({ model, mcp, ...options }) => {
    const tools = new McpToolNode(mcp);
    return createReactAgent({
      llm: () => model.bindTools(tools.tools as never),
      tools,
      ...options,
    } as never) as unknown as Agent;
  },
  "a StateGraph with McpToolNode": ({ model, mcp, checkpointer }) =>
    new StateGraph(MessagesAnnotation)
      .addNode("model", async ({ messages }) => ({
        messages: [await model.bindTools(mcp.tools).invoke(messages)],
      }))
      .addNode("tools", new McpToolNode(mcp))
      .addEdge("__start__", "model")
      .addConditionalEdges("model", toolsCondition)
      .addEdge("tools", "model")
      .compile(checkpointer === undefined ? {} : { checkpointer }) as unknown as Agent,
};

export const question = { messages: [new HumanMessage("Please.")] };

export function thread(id: string): { configurable: { thread_id: string } } {
  return { configurable: { thread_id: id } };
}

export function answer(...decisions: readonly unknown[]): Command {
  return new Command({ resume: { decisions } });
}

export function toolMessages({ messages }: AgentResult): ToolMessage[] {
  return messages.filter((message) => message instanceof ToolMessage);
}
