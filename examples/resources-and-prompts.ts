// Resources and prompts: resources as LangChain documents, resource tools for an agent, and resource updates.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

let menu = "soup, fish";
await using server = await startMcpTestServer({
  tools: [],
  instructions: "Prices are in euros.",
  resources: [{ uri: "menu:today", name: "menu", mimeType: "text/plain", read: () => menu }],
  prompts: [
    {
      name: "order",
      arguments: [{ name: "guests", required: true }],
      get: ({ guests }) => `Order for ${guests} guests.`,
    },
  ],
});
await using mcp = await createMcpTools({ kitchen: { url: server.url } }, { resourceTools: true });

const [document] = await mcp.getResources({ server: "kitchen" });
console.log(`1. ${String(document?.metadata.name)}: ${String(document?.pageContent)}`);

const messages = await mcp.getPrompt({ server: "kitchen", name: "order", args: { guests: "four" } });
const llm = fakeModel() // or any chat model
  .respondWithTools([{ name: "kitchen__read_resource", args: { uri: "menu:today" } }])
  .respond(new AIMessage("Fish for four, please."));
const agent = createReactAgent({ llm, tools: mcp.tools, prompt: mcp.instructions().kitchen ?? "" });
const result = await agent.invoke({ messages });
for (const message of result.messages) console.log(`2. ${message.getType()}: ${message.text}`);

const updates: string[] = [];
mcp.on("resourceUpdated", ({ uri }) => updates.push(uri));
await mcp.clients.kitchen.subscribeResource("menu:today");
menu = "soup, fish, cake";
await server.restart(); // the next request restores the subscription
const [updated] = await mcp.getResources({ server: "kitchen", uris: ["menu:today"] });
console.log(`3. ${updates.join()} was updated: ${String(updated?.pageContent)}`);
