// MCP tools in LangChain's createAgent. Tool errors are returned to the model, and the run continues.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createAgent } from "langchain";
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [
    {
      name: "print",
      inputSchema: { type: "object", properties: { pages: { type: "integer" } }, required: ["pages"] },
      run: ({ pages }) => {
        if (Number(pages) > 10) throw new Error("Out of paper: at most 10 pages.");
        return `printed ${String(pages)} pages`;
      },
    },
  ],
});
await using mcp = await createMcpTools({ office: { url: server.url } });

const model = fakeModel()
  .respondWithTools([{ name: "office__print", args: { pages: "twelve" } }])
  .respondWithTools([{ name: "office__print", args: { pages: 12 } }])
  .respondWithTools([{ name: "office__print", args: { pages: 10 } }])
  .respond(new AIMessage("I printed ten of the twelve pages."));
const agent = createAgent({ model, tools: mcp.tools });
const { messages } = await agent.invoke({ messages: "Print my twelve pages." });
for (const message of messages) console.log(`${message.getType()}: ${message.text}`);
