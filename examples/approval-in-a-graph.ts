// A LangGraph agent whose payments a person approves. The graph stops before the call runs and stays in the
// checkpointer; another request, or another process, resumes it with the decision.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { HITLRequest, HITLResponse } from "langchain";
import { createMcpTools } from "langchain-mcp-runtime";
import { McpToolNode } from "langchain-mcp-runtime/langgraph";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [{ name: "pay", run: ({ to, amount }) => `${String(amount)} EUR paid to ${String(to)}` }],
});
await using mcp = await createMcpTools({
  bank: {
    url: server.url,
    tools: { pay: { requireApproval: ({ amount }) => Number(amount) > 100 } },
  },
});
mcp.on("approvalDecided", ({ tool, decision }) => console.log(`   audit: ${tool} ${decision}`));

const model = fakeModel() // a scripted model
  .respondWithTools([{ name: "bank__pay", args: { to: "Ann", amount: 50 } }])
  .respondWithTools([{ name: "bank__pay", args: { to: "Bob", amount: 5_000 } }])
  .respond(new AIMessage("Ann got 50 EUR, Bob 500 EUR."));
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
  .compile({ checkpointer: new MemorySaver() });
const config = { configurable: { thread_id: "1" } };
const paid = () =>
  server.executions.map(({ args }) => `${String(args["to"])} ${String(args["amount"])}`).join(", ");

console.log("1. The run stops at the large payment.");
await graph.invoke({ messages: [new HumanMessage("Pay Ann 50 and Bob 5000 EUR.")] }, config);
console.log(`   paid: ${paid()}`);

console.log("2. A person looks at what is waiting, and changes the amount.");
const { tasks } = await graph.getState(config);
const request = tasks[0]?.interrupts[0]?.value as HITLRequest;
for (const { name, args } of request.actionRequests)
  console.log(`   waiting: ${name} ${JSON.stringify(args)}`);
const response: HITLResponse = {
  decisions: request.actionRequests.map(({ name, args }) => ({
    type: "edit",
    editedAction: { name, args: { ...args, amount: 500 } },
  })),
};

console.log("3. The run continues.");
const { messages } = await graph.invoke(new Command({ resume: response }), config);
console.log(`   paid: ${paid()}`);
console.log(`   ${messages.at(-1)?.text}`);
