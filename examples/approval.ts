// Three tool calls in one message, two of which require approval. The agent interrupts once, before any of
// them runs, and is resumed with the decisions: here immediately, in practice often by a later request.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, type HITLRequest, type HITLResponse } from "langchain";
import { createMcpTools } from "langchain-mcp-runtime";
import { mcpMiddleware } from "langchain-mcp-runtime/langchain";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [
    { name: "get_balance", run: () => "120 EUR" },
    { name: "pay", run: ({ to, amount }) => `${String(amount)} EUR paid to ${String(to)}` },
  ],
});
await using mcp = await createMcpTools({
  bank: { url: server.url, tools: { pay: { requireApproval: true } } },
});

const model = fakeModel()
  .respondWithTools([
    { name: "bank__get_balance", args: {} },
    { name: "bank__pay", args: { to: "Ann", amount: 50 } },
    { name: "bank__pay", args: { to: "Bob", amount: 5_000 } },
  ])
  .respond(new AIMessage("I paid Ann. The payment to Bob was rejected."));
const agent = createAgent({
  model,
  tools: mcp.tools,
  middleware: [mcpMiddleware(mcp)],
  checkpointer: new MemorySaver(),
});
const config = { configurable: { thread_id: "1" } };

const interrupted = await agent.invoke({ messages: "Pay Ann and Bob." }, config);
const request = interrupted.__interrupt__?.[0]?.value as HITLRequest;
for (const { name, args } of request.actionRequests)
  console.log(`approval required: ${name} ${JSON.stringify(args)}`);
console.log(`executed so far: ${server.executions.length}`);

const response: HITLResponse = {
  decisions: request.actionRequests.map(({ args }) =>
    Number(args["amount"]) > 1_000
      ? { type: "reject", message: "The amount is too high." }
      : { type: "approve" },
  ),
};
const { messages } = await agent.invoke(new Command({ resume: response }), config);
for (const { tool, args } of server.executions) console.log(`executed: ${tool} ${JSON.stringify(args)}`);
console.log(messages.at(-1)?.text);
